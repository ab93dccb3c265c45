//! The forward pass of attention, O = softmax(Q Kᵀ / √d) V, in bfloat16 or half precision with f32 sums.
//!
//! Q and O are [batch, heads, queries, d], and K and V are [batch, kv-heads, keys, d]. All are row-major. Each group of
//! (heads / kv-heads) heads shares one head of K and V. The causal mask is aligned at the bottom right, as in
//! FlashAttention 2.1 and later: query i sees the keys up to i + keys - queries. The output of a query that sees no key
//! is 0.
//!
//! Kernels have the parameters `q`, `k`, `v`, `output`, `batch`, `heads`, `kv_heads`, `queries` and `keys`. The shape
//! that a grid covers is queries, batch · heads, keys, d. Kernels that copy with tensor maps have `q_map`, `k_map` and
//! `v_map`. These maps have three dimensions: d, the length, and all heads. A box is a tile of one head: 64 elements of
//! a row by 64 rows, or by the number of rows that the rung chooses (`box_rows`). Out-of-bounds elements, after the
//! last row of a head, are zeros. Rungs that store the matrix of scores in memory have the additional parameters
//! `scores`, with queries × keys floats for each head, and `barrier`.
//!
//! To compute the speed, each pair of a query and a key that the query sees counts as 4 d floating-point operations.
//! Without a mask, the number of operations is 4 · batch · heads · queries · keys · d.
//!
//! # How it is checked
//! The reference is computed in double precision from the exact inputs. Write s for a score (before scaling), c for
//! log2(e) / √d, and u for 2^-23, because tensor cores truncate. For one query, with weights p = 2^(c (s - max)) and
//! their sum l, an element is o = Σ p v / l. The result of a correct kernel differs from o for these reasons:
//!
//! - A score is an f32 sum of d exact products. Whatever the order of addition, its error is at most e = (d + 1) u Σ|q
//!   k| (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, §3.1). The exponent has an error of c
//!   e. The error of the maximum cancels, because all weights use the same maximum.
//! - The exponent is computed with a rounded scale and with rounded products and differences, each of numbers up to c
//!   max|s|. Its error is at most 8 u c max|s|. `ex2.approx` has an error of 2 units in the last place (PTX ISA). A
//!   kernel that computes tile by tile multiplies earlier weights by another such power for each tile in which the
//!   maximum grows. With tiles of 16 keys or more, a weight is the product of at most t = keys / 16 + 1 such powers.
//! - So a weight is too large or too small by a factor of at most 2^δ, with δ = c e + t u (8 c max|s| + 4). Only ratios
//!   of weights matter, so there are two ways to bound the error of the quotient. The smaller bound is used. In the
//!   first, each weight has the error δ. In the second, the greatest weight is exact, and the error of each other weight
//!   is the sum of its δ and the greatest weight's δ. The second bound is smaller if one score is far greater than all
//!   others.
//! - Weights are rounded to the type of V before they are multiplied. This error is 2^-8 (bf16) or 2^-11 (f16) of the
//!   weight. Half precision has no numbers below 2^-24, so a weight can lose 2^-25 of the greatest weight.
//! - Sums of `keys` terms have errors of (keys + t + 1) u times the sum of the terms' magnitudes. The division
//!   adds 4 u.
//!
//! Let w = p / l, r = 2^δ - 1 and g = (keys + t + 5) u. The bound on the error of o is
//! (Σ w |v| (r + 2^-8 (1 + r) + g) + |o| (Σ w r + g)) / (1 - Σ w r - g). The allowed range of an element is the
//! interval o ± this bound, with both ends rounded like the output.
//!
//! Up to 2^30 multiplications, every row is compared. Beyond that, a sample of each head's rows is compared: the first
//! and last rows, rows at the causal edge, and one row of each range of rows. This comparison takes 2^31
//! multiplications. In all other rows, every element must be between the least and the greatest element of its column
//! of V.
//!
//! Four kinds of data expose different faults:
//! - `normal`: sums of uniform numbers, with a variance of 1.
//! - `uniform`: numbers from -1 to 1.
//! - `special`: Q and K contain multiples of 2, zeros and -0. The scores are so far apart that one key, or a few equal
//!   keys, have all of the weight. V contains -0, subnormal and large numbers.
//! - `constant`: equal elements, so that every output is the element of V.
//!
//! The scores of the last two kinds are exact.

mod data;
mod problem;
mod reference;
mod sweep;

use engine::options::{Kind, Opt};
use engine::registry::Ladder;

use super::product;
use data::DATA;

/// The types of the elements.
const TYPES: &[&str] = &["bf16", "f16"];

/// The values of d. The first one is the default.
const HEAD_SIZES: &[&str] = &["128", "64"];

pub(super) const LADDER: Ladder = Ladder {
    name: "attention",
    summary: "the forward pass of attention, softmax(Q Kᵀ / √d) V, for 16-bit floats",
    rungs: kernels_gpu::attention::RUNGS,
    options: &[
        Opt::size("batch", "BATCH", "1", "Number of sequences"),
        Opt::size("heads", "HEADS", "4", "Number of heads of Q"),
        Opt {
            name: "kv-heads",
            metavar: "HEADS",
            kind: Kind::SizeOr("heads"),
            default: "heads",
            help: "Number of heads of K and V, a divisor of --heads",
        },
        Opt::size("queries", "QUERIES", "512", "Rows of Q in each head"),
        Opt {
            name: "keys",
            metavar: "KEYS",
            kind: Kind::SizeOr("queries"),
            default: "queries",
            help: "Rows of K and V in each head",
        },
        Opt::word("d", "D", HEAD_SIZES, "Number of elements in each row of Q, K and V"),
        Opt::word("type", "TYPE", TYPES, "The type of the elements"),
        Opt::word("causal", "CAUSAL", &["no", "yes"], "Whether query i sees only the keys up to i + keys - queries"),
        Opt::word(
            "data",
            "DATA",
            DATA,
            "The elements: normally distributed, uniform from -1 to 1, with one large score per row, or all equal",
        ),
    ],
    blocks: &[[128, 1, 1], [256, 1, 1], [384, 1, 1], [512, 1, 1]],
    block_rule: "the block that the rung is compiled for: 128, 256, 384 or 512",
    sweep: sweep::sweep,
    problem: |options| Ok(Box::new(problem::Attention::new(options)?)),
    shown: product::SHOWN,
};

#[cfg(test)]
mod tests;
