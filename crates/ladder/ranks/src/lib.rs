//! Runs one problem on several devices. Each device belongs to a rank, which is a thread of this process or a separate
//! process.
//!
//! The ranks [meet](meeting) to exchange messages, and a [communicator] combines the data in their devices' memory. A
//! rank that fails notifies the other ranks, so all ranks return the same error, and a failed run has no results.
//!
//! The input is a [`SharedProblem`] from a table of [`SharedLadder`]s, which the program provides. The output is a
//! [`GroupReport`]. On WebAssembly, this crate only contains the traits that ladders implement.
//!
//! This crate must not know which ladders exist or how results are shown.

#[cfg(not(target_family = "wasm"))]
pub mod communicator;
#[cfg(not(target_family = "wasm"))]
mod devices;
mod divide;
#[cfg(not(target_family = "wasm"))]
mod error;
#[cfg(not(target_family = "wasm"))]
mod host_memory;
#[cfg(not(target_family = "wasm"))]
pub mod meeting;
#[cfg(not(target_family = "wasm"))]
mod member;
#[cfg(not(target_family = "wasm"))]
mod peer_copies;
#[cfg(not(target_family = "wasm"))]
mod peers;
mod problem;
#[cfg(not(target_family = "wasm"))]
mod report;
#[cfg(not(target_family = "wasm"))]
mod run;
#[cfg(not(target_family = "wasm"))]
mod through_host;
#[cfg(not(target_family = "wasm"))]
mod work;

pub use divide::{Combination, ElementType, Operation, Share, Side};
pub use problem::{Divide, FIRST_RANK, PeerProblem, Piece, RankProblem, SharedLadder, SharedProblem};
#[cfg(not(target_family = "wasm"))]
pub use {
    devices::{Devices, links, numbers},
    error::Error,
    member::{Member, Settings, run_process, run_threads},
    report::{GroupReport, GroupRequest, Measurement},
    run::{check, measure},
};
