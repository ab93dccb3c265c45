//! `lab`, and what is behind `lab versus`: a shell script in the place of nvcc, the simulator in the place of a GPU, and a
//! driver that is compiled here.
//!
//! All of it is one program, because each program of tests takes seconds to link.

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
