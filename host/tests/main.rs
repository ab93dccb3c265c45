//! Tests of the ladders and the program `ladder`, on the simulator and on stand-ins for a GPU.
//!
//! All tests are one program, because every test program takes seconds to link.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod agree;
mod agreement;
mod checklist;
mod common;
mod cut;
mod device_sizes;
mod dram;
mod explain;
mod forward_progress;
mod histogram;
mod kernels;
mod learn;
mod matmul;
mod mutants;
mod occupancy;
mod pitfalls;
mod process;
mod ptx;
mod registry;
mod report;
mod runs;
mod scan;
mod several;
mod shown;
mod sim;
mod softmax;
mod stand_in;
mod transcripts;
mod transpose;
mod why;
mod widths;
