//! Whole kernels on the machine, and the program `simt`.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod cli;
mod faults;
mod flow;
mod matrix;
mod observers;
mod programs;
mod ptxas;
mod refused;
mod repeats;
mod runtime;
mod textures;
mod threads;
