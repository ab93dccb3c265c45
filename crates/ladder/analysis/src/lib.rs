//! The analysis of a ladder's rungs: metrics from the simulator and from GPUs, occupancy, predictions, DRAM traffic,
//! rooflines, figures, and a checklist of optimizations. The crate also compares the simulator with Nsight Compute and
//! provides the recorded effects of pitfalls on a GPU.
//!
//! The input is a [`Catalog`](engine::Catalog) and a user's request. The output is numbers and verdicts, as data.
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
