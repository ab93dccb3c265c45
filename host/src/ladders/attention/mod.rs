//! Attention, the forward pass: O = softmax(Q Kᵀ / √d) V, of bfloat16 or half precision, with sums of 32-bit floats.
//!
//! Q and O are [batch, heads, queries, d], K and V are [batch, kv-heads, keys, d], row-major. A group of heads / kv-heads heads
//! shares a head of K and V. The causal mask is aligned at the bottom right, as in FlashAttention 2.1 and later: query i sees
//! the keys up to i + keys - queries. The output of a query that sees no key is 0.
//!
//! Kernels have parameters `q`, `k`, `v`, `output` and `batch`, `heads`, `kv_heads`, `queries`, `keys`. The shape that a grid
//! covers is queries, batch · heads, keys, d. Kernels that copy by tensor maps have `q_map`, `k_map` and `v_map`, of three
//! dimensions: d, the length, all heads. A box is a tile of 64 elements of a row and 64 rows of one head, or the rows that
//! the rung chooses (`box_rows`). Elements after the last row of a head are zeros. Rungs with the matrix of scores in memory
//! have `scores`, of queries × keys floats for each head, and `barrier`.
//!
//! The speed is 4 d floating-point operations for each pair of a query and a key that it sees, divided by the time. Without a mask that is
//! 4 · batch · heads · queries · keys · d.
//!
//! # How it is checked
//! The reference is computed in double precision, of the exact inputs. Write s for a score (before the scale), c for
//! log2(e) / √d, and u for 2^-23, because tensor cores truncate. For one query, with weights p = 2^(c (s - max)) and their sum
//! l, an element is o = Σ p v / l. A right kernel differs from it for these reasons:
//!
//! - A score is an f32 sum of d exact products. It is off by e = (d + 1) u Σ|q k| at most, in whatever order (Higham, *Accuracy
//!   and Stability of Numerical Algorithms*, 2nd edition, §3.1). The exponent is off by c e, and the maximum cancels, because
//!   it is the same number in all weights.
//! - An exponent is computed with a rounded scale and rounded products and differences, each of numbers up to c max|s|: off by
//!   8 u c max|s| at most. `ex2.approx` is off by 2 units in the last place (PTX ISA). A kernel that computes tile by tile
//!   multiplies earlier weights by such a power again for each tile in which the maximum grows. With tiles of 16 keys or
//!   more, a weight is the product of t = keys / 16 + 1 such powers at most.
//! - So a weight is at most 2^δ times too large or too small, with δ = c e + t u (8 c max|s| + 4). Only ratios of weights
//!   matter, so there are two ways to bound the error of the quotient, and the smaller bound counts. Either each weight has the
//!   error δ. Or the greatest weight is exact, and each other weight has the sum of the greatest weight's δ and its δ. The
//!   second bound is the smaller one where one score is far greater than all others.
//! - Weights are rounded to the type of V before they are multiplied: by 2^-8 (bf16) or 2^-11 (f16) of their size. Half
//!   precision has no numbers below 2^-24, so that a weight may lose 2^-25 of the greatest one.
//! - The sums of keys terms are off by (keys + t + 1) u of the sum of their magnitudes, and the division by 4 u.
//!
//! Let w = p / l, r = 2^δ - 1 and g = (keys + t + 5) u. The bound on the error of o is
//! (Σ w |v| (r + 2^-8 (1 + r) + g) + |o| (Σ w r + g)) / (1 - Σ w r - g). Both ends of the interval around o, rounded as the
//! output is, are the least and the greatest number that an element may be.
//!
//! Up to 2^30 multiplications every row is compared. Beyond that, a sample of the rows of each head is: the first and the last
//! rows, rows at the causal edge, and one of each stretch of rows, so that there are 2^31 multiplications. Of all other rows,
//! every element has to be between the least and the greatest element of its column of V.
//!
//! Four kinds of data show different faults. `normal`: sums of uniform numbers, with a variance of 1. `uniform`: numbers from
//! -1 to 1. `special`: multiples of 2 in Q and K, so large that one key or a few equal ones have all of the weight, with
//! zeros and -0; V has -0, subnormal and large numbers. `constant`: equal elements, so that every output is the element of V.
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

/// The sizes of a head. The first one is the default.
const HEAD_SIZES: &[&str] = &["128", "64"];

pub(super) const LADDER: Ladder = Ladder {
    name: "attention",
    summary: "attention, the forward pass: softmax(Q Kᵀ / √d) V of 16-bit floats",
    rungs: kernels_gpu::attention::RUNGS,
    options: &[
        Opt::size("batch", "BATCH", "1", "The number of sequences"),
        Opt::size("heads", "HEADS", "4", "The heads of Q"),
        Opt {
            name: "kv-heads",
            metavar: "HEADS",
            kind: Kind::SizeOr("heads"),
            default: "heads",
            help: "The heads of K and V, a divisor of those of Q",
        },
        Opt::size("queries", "QUERIES", "512", "The rows of Q in each head"),
        Opt {
            name: "keys",
            metavar: "KEYS",
            kind: Kind::SizeOr("queries"),
            default: "queries",
            help: "The rows of K and V in each head",
        },
        Opt::word("d", "D", HEAD_SIZES, "The elements of a row"),
        Opt::word("type", "TYPE", TYPES, "The type of the elements"),
        Opt::word("causal", "CAUSAL", &["no", "yes"], "Whether query i sees the keys up to i + keys - queries only"),
        Opt::word(
            "data",
            "DATA",
            DATA,
            "The elements: normally distributed, uniform from -1 to 1, with one large score in a row, or all equal",
        ),
    ],
    blocks: &[[128, 1, 1], [256, 1, 1], [384, 1, 1], [512, 1, 1]],
    block_rule: "the one that the rung is compiled for: 128, 256, 384 or 512",
    sweep: sweep::sweep,
    problem: |options| Ok(Box::new(problem::Attention::new(options)?)),
    shown: product::SHOWN,
};

#[cfg(test)]
mod tests;
