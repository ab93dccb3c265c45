//! Runs ladders of GPU kernels. This crate defines the [`Ladder`], the [`Problem`] that its rungs compute, the
//! [`Device`]s that run the rungs, and the sessions in which a rung is checked and timed.
//!
//! The input is a [`Catalog`] of ladders with the PTX of their kernels, which the program provides. The output is
//! [reports](run::Report) on runs, as data.
//!
//! On WebAssembly, the crate leaves out the devices that need a driver, and the program provides another [`Device`].
//!
//! This crate must not know which ladders exist, how results are shown, or what is computed from them.

pub mod catalog;
pub mod device;
mod error;
pub mod launch;
pub mod names;
pub mod options;
pub mod problem;
#[cfg(not(target_family = "wasm"))]
mod provenance;
mod ptx;
pub mod registry;
#[cfg(not(target_family = "wasm"))]
mod rerun;
pub mod run;
pub mod selection;
mod session;
pub mod size;
pub mod stats;

pub use self::ptx::Ptx;
pub use catalog::{Catalog, Kernels};
pub use device::Device;
pub use error::{Error, Needs};
pub use options::Options;
pub use problem::Problem;
#[cfg(not(target_family = "wasm"))]
pub use provenance::Provenance;
pub use registry::{
    ChooseBlock, Column, DeviceProperties, Effort, Entries, Ladder, PublishedSpeedup, Rung, ShownColumns,
};
#[cfg(not(target_family = "wasm"))]
pub use rerun::on_sim;
pub use run::Session;
pub use size::{dims, parse_block, parse_size};
