//! The wrapping sum of n 32-bit integers, from neighboring pairs in global memory to warp shuffles. Some rungs also
//! compute the product, min and max of five types.
//!
//! Each kernel has the parameters `(input: *mut T, output: *mut T, n: u32)` and writes one element per block, the sum
//! of the block's elements. The host adds these partial sums. As in the ladder's source text, this last step is part of
//! the check and is not timed.
//!
//! The last two rungs write a single result for all elements. `reduce_one_launch` also has a workspace parameter before
//! `n`. In the workspace, blocks pass their results to the last block. The check verifies that the workspace is zeroed
//! again for the next launch. `reduce_atomic` adds to a separate output, which is zeroed before every launch. Zeroing
//! is not timed.
//!
//! Effective bandwidth is computed as in the source text: the bytes of n elements, each read once, divided by the time.
//! This bandwidth counts neither the partial sums nor the data that an in-place rung writes and reads again.
//!
//! # How it is checked
//! Integers, min and max are compared exactly. A min or max must ignore NaNs among the elements.
//!
//! Sums of floats are compared exactly as well, whatever the order of addition. The elements are odd multiples of 2^-6
//! for `f32` and of 2^-32 for `f64`, between -1 and 1, and equally often negative and positive. While a sum's magnitude
//! stays below 2^18 (2^21), the sum is a multiple of that step with at most 24 (53) bits, and nothing is rounded. If
//! the order does not depend on the elements, sums grow like a random walk: the sum of 2^31 elements ends 2^14.7 from
//! 0, a tenth of the bound. The check therefore needs no tolerance for rounding. It always detects a missing or
//! additional element, because such an element changes an even multiple of the step into an odd one, or the reverse.
//!
//! A product of floats may differ by at most a bound on its rounding errors, because the relative error of each
//! multiplication remains in the product. The bound holds for any order. With a unit roundoff u, the bound is the
//! lesser of γ(n) = n u / (1 - n u) (Higham, *Accuracy and Stability of Numerical Algorithms*, §3.1) and exp((8 √n + n
//! / 32) u) - 1. The term 8 √n covers roundings that are equally often up and down (Higham and Mary, *A New Approach to
//! Probabilistic Rounding Error Analysis*, 2019, with their λ = 8). Roundings of products near 1 are slightly biased,
//! because the numbers below 1 are half as far apart as the numbers above 1. The largest measured bias was u / 64 per
//! multiplication. The measurement covered products of two to twenty thousand adjacent or distant elements, and then
//! products of pairs of those products. The term n / 32 allows twice that bias. The error of the double-precision
//! reference is added by the same rule. The factors' signs are as random as their magnitudes. Half of the time,
//! therefore, a missing factor makes the sign wrong. A wrong sign is detected regardless of the tolerance for rounding.

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

/// The powers of two from two warps to the maximum number of threads per block.
const BLOCKS: &[[u32; 3]] = &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]];

/// The number of threads of the smallest block. Every block's share of the input starts at a multiple of `GRAIN`
/// elements.
const GRAIN: u64 = 64;

/// The types of the elements.
const TYPES: &[&str] = &["i32", "u32", "i64", "f32", "f64"];

/// The operation and the type that all rungs compute.
const USUAL: (&str, &str) = ("sum", "i32");

pub(super) const LADDER: Ladder = Ladder {
    name: "reduce",
    summary: "the wrapping sum of n 32-bit integers, as one partial sum per block or as a whole",
    rungs: kernels_gpu::reduce::RUNGS,
    options: &[
        Opt::size(
            "n",
            "N",
            "16777216",
            "Number of elements: 16777216, 1_000_000, 2^24 or 16M (k, M, G are 2^10, 2^20, 2^30)",
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

/// Sizes that expose a wrong comparison or offset: powers of two and their neighbors, and sizes that leave partial
/// warps, partial blocks and partial rounds of a block.
const EDGES: &[u64] = &[
    0, 1, 2, 3, 4, 7, 16, 31, 33, 63, 65, 96, 191, 256, 383, 512, 513, 1000, 1024, 1025, 2049, 3333, 4095, 4097, 6143,
    8191, 8193,
];

fn sweep(effort: Effort) -> Vec<Options> {
    // Only the default variant is checked with all of these sizes.
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
