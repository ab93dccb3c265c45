//! The ladders and the program `ladder`, on the SIMT machine and on stand-ins for a GPU.
//!
//! All of it is one program, because each program of tests takes seconds to link.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod agree;
mod agree_refused;
mod agreement;
mod checklist;
mod cli;
mod common;
mod cut;
mod dram;
mod gpu;
mod histogram;
mod kernels;
mod matmul;
mod occupancy;
mod predict;
mod profile;
mod ptx;
mod refused;
mod registry;
mod runs;
mod selection;
mod shown;
mod shuffle;
mod sim;
mod stand_in;
mod timed;
mod transpose;
