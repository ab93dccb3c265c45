//! Measures the ladders against other implementations of the same computation: *CUDA ports*, which are rungs written
//! once more in CUDA C++, and *baselines*, which are functions of libraries (CUB, cuBLAS, PyTorch, a copy of memory).
//!
//! The input are the ladders of `host`, the CUDA C++ in `cuda/`, which the machine's nvcc compiles, and a GPU. The
//! output are tables and JSON of `lab versus`, which runs all contestants in turn in one process, and starts
//! another one without a contestant that has made the device unusable. Criterion's
//! benchmarks of the same contestants are in `ladders/`.
//!
//! CUDA ports and baselines are registered here by the name of their ladder; a ladder may have neither. This crate
//! must not know how a rung computes or how it is checked: a baseline is checked like a rung.

pub mod baseline;
pub mod cases;
pub mod contest;
pub mod contestant;
pub mod cuda_code;
mod error;
pub mod library;
pub mod nvcc;
pub mod show;
pub mod targets;
pub mod torch;
pub mod versus;

pub use error::{Error, Failure};
