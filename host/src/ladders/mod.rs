//! One module per ladder: its rungs, its input, its reference and its check.

use engine::Ladder;
use ranks::SharedLadder;
use ranks::SharedProblem::{Divided, Peers};

mod allreduce;
pub mod attention;
pub mod gemm;
pub mod histogram;
pub mod matmul;
mod number;
mod product;
pub mod reduce;
#[cfg(test)]
mod rung_fixture;
pub mod scan;
pub mod shuffle;
pub mod softmax;
pub mod sort;
pub mod transpose;

use allreduce::AllReduce;

/// All ladders, in the order in which they are taught. A new ladder needs a module and a line here.
#[rustfmt::skip]
pub(crate) static ALL: &[Ladder] = &[
    reduce::LADDER,
    transpose::LADDER,
    shuffle::LADDER,
    matmul::LADDER,
    gemm::LADDER,
    histogram::LADDER,
    scan::LADDER,
    sort::LADDER,
    softmax::LADDER,
    attention::LADDER,
    allreduce::LADDER,
];

/// The ladders whose problems can be divided among several devices.
pub(crate) static SHARED: &[SharedLadder] = &[
    SharedLadder { name: reduce::LADDER.name, problem: |options| reduce::divided(options).map(Divided) },
    SharedLadder { name: matmul::LADDER.name, problem: |options| matmul::divided(options).map(Divided) },
    SharedLadder { name: gemm::LADDER.name, problem: |options| gemm::divided(options).map(Divided) },
    SharedLadder { name: histogram::LADDER.name, problem: |options| histogram::divided(options).map(Divided) },
    SharedLadder { name: allreduce::LADDER.name, problem: |options| Ok(Peers(Box::new(AllReduce::new(options)?))) },
];
