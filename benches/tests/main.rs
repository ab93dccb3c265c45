//! Tests of `lab` and of the crate that implements `lab versus`: with a shell script in place of nvcc, the simulator in
//! place of a GPU, and a stand-in driver that the tests compile.
//!
//! All tests are one program, because each test program takes seconds to link.

#![allow(clippy::unwrap_used, unreachable_pub)]

#[cfg(unix)]
mod baselines;
#[cfg(unix)]
mod common;
mod cuda_ports;
#[cfg(unix)]
mod gpu;
#[cfg(unix)]
mod groups;
#[cfg(unix)]
mod lab;
#[cfg(unix)]
mod nvcc;
#[cfg(unix)]
mod versus;
