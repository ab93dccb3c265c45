//! One module per ladder: its rungs, its input, its reference and its check.

use engine::Ladder;

mod allreduce;
pub mod gemm;
pub mod histogram;
pub mod matmul;
mod product;
pub mod reduce;
#[cfg(test)]
mod rung_fixture;
pub mod shuffle;
pub mod transpose;

/// All ladders, in the order in which they are taught. A new ladder is a module and a line here.
#[rustfmt::skip]
pub(crate) static ALL: &[Ladder] = &[
    reduce::LADDER,
    transpose::LADDER,
    shuffle::LADDER,
    matmul::LADDER,
    gemm::LADDER,
    histogram::LADDER,
    allreduce::LADDER,
];
