//! The analysis of a ladder's rungs: metrics of both devices, occupancy, predictions, DRAM, rooflines, figures, and a
//! checklist of optimizations. It also has the agreement of the simulator with Nsight Compute, and the effects of
//! pitfalls on a GPU.
//!
//! The input is a [`Catalog`](engine::Catalog) and the request of a user. The output is numbers and verdicts, as data.
//!
//! This crate must not know which ladders exist or how its numbers are shown.

pub mod agree;
pub mod checklist;
pub mod dram_trace;
mod error;
pub mod explain;
pub mod occupancy;
pub mod pitfalls;
pub mod predict;
pub mod profile;
pub mod results;
pub mod selection;

pub use error::Error;
