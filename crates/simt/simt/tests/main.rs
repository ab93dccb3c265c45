//! Tests of whole kernels on the simulator, and of the program `simt`.

#![allow(clippy::unwrap_used, unreachable_pub)]

// Some private files of the crate are tested separately and included by path. They refer to this module as
// `crate::regs`.
use simt::regs;

mod alu;
mod bf16;
mod cli;
mod counters;
mod critical_path;
mod diagnostic;
mod expanded;
mod faults;
mod flow;
mod fuzz;
mod instance;
mod litmus;
mod masks;
mod matrix;
mod memory;
mod names;
mod observers;
mod params;
mod printf;
mod programs;
#[cfg(unix)]
mod ptxas;
mod race;
mod reconvergence;
mod refused;
mod repeats;
mod runtime;
mod sanitize_calls;
mod sanitize_copies;
mod sanitize_init;
mod sanitize_memory;
mod simulator;
mod skipped;
mod sync_check;
mod textures;
mod threads;
