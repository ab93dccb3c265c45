//! The ladders measured against what else there is: the same kernels in CUDA C++, compiled by nvcc and loaded
//! as the Rust ones are, and NVIDIA's own libraries. `versus` is a program that runs them in turn in one
//! process; the benchmarks are criterion's of the same.

pub mod cases;
pub mod clock;
pub mod contest;
pub mod entrant;
mod error;
pub mod groups;
pub mod nvcc;
pub mod opponents;
pub mod show;
pub mod targets;
pub mod versus;

pub use error::Error;
