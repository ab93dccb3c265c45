//! The sum of n 32-bit integers, wrapping: from neighboring pairs in global memory to warp shuffles. Some of the rungs
//! also compute the product, min and max of five types.
//!
//! Each kernel takes `(input: *mut T, output: *mut T, n: u32)` and writes one element per block, the sum of the
//! block's elements. The host adds these partial sums. As in the ladder's source text, that last step belongs to
//! checking: it is not timed.
//!
//! The last two rungs write the one result of all elements. `reduce_one_launch` also takes a workspace, before `n`, in
//! which blocks pass their results on to the last one. The check verifies that it is left zeroed for the next launch.
//! `reduce_atomic` adds to an output of its own, which is zeroed before every launch; zeroing is not timed.
//!
//! Effective bandwidth is computed as in that text: the bytes of n elements, each read once, divided by the time. Data
//! that an in-place rung writes and reads again do not count, and neither do the partial sums.
//!
//! # How it is checked
//! Integers, min and max are compared exactly; NaNs among the elements of a min or max must be ignored.
//!
//! Sums of floats are compared exactly as well, in whatever order they were added: the elements are odd multiples of
//! 2^-6 for `f32` and of 2^-32 for `f64`, between -1 and 1, and equally often negative and positive. While a sum's
//! magnitude stays below 2^18 (2^21), it is a multiple of that step with no more than 24 (53) bits, and nothing is
//! rounded. If the order does not depend on the elements, sums grow like a random walk: the sum of 2^31 elements ends
//! 2^14.7 from 0, a tenth of the bound. So no tolerance for rounding is necessary, and one element too few or too many
//! is always detected: it changes an even multiple of the step into an odd one.
//!
//! A product of floats may differ by a bound on its rounding errors, in whatever order it is computed, because the
//! relative error of each multiplication remains in it. With a unit roundoff u, the bound is the lesser of γ(n) = n u
//! / (1 - n u) (Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1) and exp((8 √n + n / 32) u) - 1. The
//! term 8 √n is for roundings that are equally often up and down (Higham and Mary, *A New Approach to Probabilistic
//! Rounding Error Analysis*, 2019, with their λ = 8). Roundings of products near 1 are slightly biased, because the
//! numbers below 1 are half as far apart as those above. The largest measured bias was u / 64 per multiplication, for
//! products of two to twenty thousand neighbouring or distant elements and then of pairs of those; the term n / 32
//! allows twice that. The reference's own error, in double precision, is added by the same rule. The factors' signs
//! are as random as their magnitudes: a missing factor makes the sign wrong half of the time, whatever the tolerance
//! for rounding.

mod cpu;
mod reduction;

pub use cpu::{plain_sum, recursive_reduce, unrolled_sum};

use engine::Error;
use engine::options::{Opt, Options};
use engine::registry::{Column, Effort, Ladder, ShownColumns};
use ranks::Divide;

use super::number::{OPS, Op};
use crate::data::MOST_IN_PIECES;
use reduction::Reduction;

/// The powers of two from two warps to the maximum number of threads of a block.
const BLOCKS: &[[u32; 3]] = &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]];

/// The smallest block. Every block's share of the input begins at a multiple of it.
const GRAIN: u64 = 64;

/// The types of the elements.
const TYPES: &[&str] = &["i32", "u32", "i64", "f32", "f64"];

/// The operation and the type that all rungs compute.
const USUAL: (&str, &str) = ("sum", "i32");

pub(super) const LADDER: Ladder = Ladder {
    name: "reduce",
    summary: "the sum of n 32-bit integers, wrapping, as one partial sum a block or whole",
    rungs: kernels_gpu::reduce::RUNGS,
    options: &[
        Opt::size(
            "n",
            "N",
            "16777216",
            "How many elements: 16777216, 1_000_000, 2^24 or 16M (k, M, G are 2^10, 2^20, 2^30)",
        ),
        Opt::word("op", "OP", OPS, "The operation"),
        Opt::word("type", "TYPE", TYPES, "The type of the elements"),
    ],
    blocks: BLOCKS,
    block_rule: "a power of two from 64 to 1024",
    sweep,
    problem: |options| Ok(divided(options)?),
    shown: ShownColumns {
        timed: &[
            Column::Time,
            Column::OverFirst,
            Column::OverBefore,
            Column::Bandwidth,
            Column::OfPeak,
            Column::Published,
        ],
        counted: &[Column::Instructions, Column::Used, Column::Sectors, Column::Uniform, Column::Conflicts],
        pictures: false,
    },
};

/// Sizes at which a wrong comparison or a wrong offset shows: powers of two and their neighbours, and odd parts of warps,
/// blocks and the elements of a block.
const EDGES: &[u64] = &[
    0, 1, 2, 3, 4, 7, 16, 31, 33, 63, 65, 96, 191, 256, 383, 512, 513, 1000, 1024, 1025, 2049, 3333, 4095, 4097, 6143,
    8191, 8193,
];

fn sweep(effort: Effort) -> Vec<Options> {
    // Of the variants, only the default one is checked with all of these sizes.
    let (larger, others): (&[u64], &[u64]) = effort.pick(
        (&[(1 << 20) + 3, (1 << 24) + 1], &[0, 1, 31, 1000, (1 << 20) + 3]),
        (&[100_003, (1 << 20) + 3, (1 << 24) + 1], &[0, 1, 31, 1000, 100_003]),
        (&[100_003], &[0, 1, 1000]),
    );
    let mut all = Vec::new();
    for n in EDGES.iter().chain(larger) {
        for (op, word) in OPS.iter().flat_map(|op| TYPES.iter().map(move |word| (*op, *word))) {
            if (op, word) == USUAL || others.contains(n) {
                all.push(Options::default().with("n", n).with("op", op).with("type", word));
            }
        }
    }
    all
}

pub(super) fn divided(options: &Options) -> Result<Box<dyn Divide>, Error> {
    let n = options.size_within("n", 0..=MOST_IN_PIECES)?;
    let (op, word) = (options.text("op"), options.text("type"));
    let variant = match (op, word) == USUAL {
        true => String::new(),
        false => format!("{op}_{word}"),
    };
    let op = Op::named(op);
    Ok(match word {
        "i32" => Box::new(Reduction::<i32>::new(n, op, variant)),
        "u32" => Box::new(Reduction::<u32>::new(n, op, variant)),
        "i64" => Box::new(Reduction::<i64>::new(n, op, variant)),
        "f32" => Box::new(Reduction::<f32>::new(n, op, variant)),
        _ => Box::new(Reduction::<f64>::new(n, op, variant)),
    })
}

#[cfg(test)]
mod tests;
