//! Measures the ladders against other implementations of the same computation. *CUDA ports* are rungs written in CUDA
//! C++, and *baselines* are functions of libraries (CUB, cuBLAS, PyTorch, a memory copy).
//!
//! The inputs are the ladders of `host`, the CUDA C++ in `cuda/`, which the installed nvcc compiles, and a GPU. The
//! outputs are the tables and JSON of `lab versus`, which runs all contestants alternately in one process. If a
//! contestant makes the device unusable, `lab versus` starts another process without this contestant. Criterion's
//! benchmarks of the same contestants are in `ladders/`.
//!
//! This crate registers CUDA ports and baselines by the name of their ladder; a ladder may have neither. This crate
//! must not know how a rung computes its result or how the result is checked: a baseline is checked like a rung.

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
