//! What a ladder's rungs can be measured and judged with: metrics of both devices, occupancy, predictions, DRAM,
//! a checklist of optimizations, and the agreement of the simulator with Nsight Compute.
//!
//! What flows in: a [`Catalog`](engine::Catalog) and what a user asks for. What flows out: numbers and verdicts, as
//! data.
//!
//! It must not know which ladders there are, and not how its numbers are shown.

pub mod agree;
pub mod checklist;
pub mod counters;
pub mod document;
pub mod dram;
pub mod occupancy;
pub mod predict;
pub mod profile;
