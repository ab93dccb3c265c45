//! The prefix sum: element `i` of the output is the sum of elements 0 to `i` of the input. `scan_look_back_warp` and
//! `scan_pipelined` also compute it for other operations and types, and in the exclusive form. In that form, element
//! `i` of the output is the sum of the elements before element `i`, and element 0 is the identity of the operation.
//!
//! Each kernel has the parameters `(input: *const T, output: *mut T, …, n: u32)`. In the rungs before
//! `scan_three_phases`, each block scans one section, and the check compares each section separately.
//!
//! Effective bandwidth counts one read and one write of every element.
//!
//! # Floats
//! The sums and products of floats are rounded, so they depend on the order of operations, which depends on the rung:
//!
//! | rung | the order of additions | the same bits in every run |
//! |---|---|---|
//! | `scan_look_back_warp` | depends on which tiles have a prefix when a block looks back | no |
//! | `scan_pipelined` | depends on `n`, the block and the number of blocks | yes, on devices with the same number of multiprocessors |
//!
//! Whatever the order of addition, the error of an element of the output is at most γ(k) Σ|xⱼ|. The xⱼ are the elements
//! that are summed, γ(k) = k u / (1 - k u), and u = 2^-24 is the unit roundoff. k is the largest number of additions
//! that an element goes through (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, §3.1 and §4.2).
//! With t tiles, k is at most 60 + t in both rungs. At most 25 additions sum a tile, 13 combine the words that a warp
//! reads, and 20 add everything before an element in its tile. In addition, each earlier tile (in `scan_pipelined`,
//! each earlier wave) adds at most one addition.
//!
//! The ladder `reduce` documents the bound of a product.
//!
//! # How it is checked
//! Integers, min and max are compared exactly. Sums of random floats are also compared exactly: their elements are
//! chosen so that no sum is rounded, as the ladder `reduce` documents. Sums of other floats may differ by the bound
//! from a sum in double precision.

mod problem;

use std::sync::OnceLock;

use engine::Error;
use engine::options::{Kind, Opt, Options};
use engine::problem::Problem;
use engine::registry::{Effort, Ladder, ShownColumns};

use super::number::{Number, OPS, Op};
use crate::data::MAX_ELEMENTS;
use problem::{DATA, Data, Scan};

/// The types of the elements.
const TYPES: &[&str] = &["i32", "u32", "i64", "f32"];

/// The forms of a scan.
const KINDS: &[&str] = &["inclusive", "exclusive"];

pub(super) const LADDER: Ladder = Ladder {
    name: "scan",
    summary: "the prefix sums of n elements, or their prefix products, minima or maxima",
    rungs: kernels_gpu::scan::RUNGS,
    options: &[
        Opt::size("n", "N", "2^24", "Number of elements"),
        Opt::word("op", "OP", OPS, "The operation"),
        Opt::word("type", "TYPE", TYPES, "The type of the elements"),
        Opt::word("kind", "KIND", KINDS, "Whether element i of the output includes element i of the input"),
        Opt::word(
            "data",
            "DATA",
            DATA,
            "The elements: random (floats with exact sums), uniform (floats from -1 to 1), equal, in order, of four values, or \
             with NaN, infinities and -0, for integers the least and greatest",
        ),
        Opt {
            name: "resident",
            metavar: "BLOCKS",
            kind: Kind::SizeOr("device"),
            default: "device",
            help: "Blocks in rungs whose blocks process several tiles: one per multiprocessor, or at most BLOCKS",
        },
    ],
    blocks: &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]],
    block_rule: "a power of two from 64 to 1024",
    sweep,
    problem,
    shown: ShownColumns::MEMORY,
};

/// Sizes that expose a wrong comparison or offset: sizes around warps, rows, blocks, tiles and the windows of a
/// look-back, sizes that end after each element of a thread's vectors, and primes.
const EDGES: &[u64] = &[
    0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 61, 63, 64, 65, 95, 96, 97, 127, 128, 129, 130, 191, 255, 256, 257,
    258, 383, 386, 511, 512, 513, 640, 767, 997, 1000, 1023, 1024, 1025, 1536, 1999, 2047, 2048, 2049, 3071, 4095,
    4096, 4097, 5000, 6143, 7919, 8191, 8192, 8193, 10_007, 12_289, 16_383, 16_384, 16_385, 20_011, 24_577, 32_768,
    33_333, 65_537,
];

fn sweep(effort: Effort) -> Vec<Options> {
    let larger: &[u64] = effort.pick(
        &[
            65_535, 131_071, 131_072, 131_073, 262_143, 262_145, 524_287, 999_983, 1_048_579, 2_097_143, 4_194_305,
            16_777_217, 33_554_393,
        ],
        &[65_535, 131_071, 131_073, 262_145, 999_983, 1_048_579, 16_777_217],
        &[270_337],
    );
    // Only the default variant is checked with all of these sizes.
    let others: &[u64] =
        effort.pick(&[0, 1, 33, 1000, 8193, 20_011, 100_003, 4_194_305], &[0, 1, 1000, 20_011, 100_003], &[1, 20_011]);
    let with = |n: u64| Options::default().with("n", n);
    let mut all: Vec<Options> = EDGES.iter().chain(larger).map(|&n| with(n)).collect();
    for &n in others {
        for op in OPS {
            for word in TYPES {
                let of_type = with(n).with("op", op).with("type", word);
                all.extend(KINDS.iter().map(|kind| of_type.clone().with("kind", kind)));
            }
        }
    }
    // Each element is a new minimum or maximum, so a lost part of the input changes the result.
    for (op, data) in [("min", "reversed"), ("max", "sorted")] {
        for (word, kind) in TYPES.iter().flat_map(|word| KINDS.iter().map(move |kind| (word, kind))) {
            all.push(with(20_011).with("op", op).with("type", word).with("kind", kind).with("data", data));
        }
    }
    for data in &DATA[1..] {
        all.push(with(4099).with("data", data));
        all.extend(OPS.iter().map(|op| with(20_011).with("op", op).with("type", "f32").with("data", data)));
    }
    // Cases in which blocks process several tiles, and in which a wave has more tiles than a warp has lanes.
    for (n, resident) in [(20_011, "1"), (65_536, "3"), (100_003, "2"), (150_001, "device")] {
        all.push(with(n).with("resident", resident).with("type", "i64").with("kind", "exclusive"));
        all.push(with(n).with("resident", resident));
    }
    all
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let resident = options.maybe_size("resident").map_or(Ok(None), |resident| match u32::try_from(resident) {
        Ok(resident) if resident > 0 => Ok(Some(resident)),
        _ => Err(Error::out_of_bounds(LADDER.name, "resident", resident, &format!("1 to {}", u32::MAX))),
    })?;
    Ok(match options.text("type") {
        "i32" => scan::<i32>(options, resident)?,
        "u32" => scan::<u32>(options, resident)?,
        "i64" => scan::<i64>(options, resident)?,
        _ => scan::<f32>(options, resident)?,
    })
}

fn scan<T: Number + 'static>(options: &Options, resident: Option<u32>) -> Result<Box<dyn Problem>, Error> {
    let n = options.size_within("n", 0..=MAX_ELEMENTS)?;
    let (op, word, kind) = (options.text("op"), options.text("type"), options.text("kind"));
    let data = Data::named(options.text("data"));
    if T::ROUNDOFF > 0.0 && op == OPS[Op::Product as usize] && n > data.most_factors() {
        let takes = format!(
            "0 to {} for products of these floats, because more factors would overflow or underflow; --data \
             random has products near 1",
            data.most_factors()
        );
        return Err(Error::out_of_bounds(LADDER.name, "n", n, &takes));
    }
    // A kernel's name omits words that are defaults.
    let named = [(op, OPS), (word, TYPES), (kind, KINDS)].into_iter().filter(|(word, words)| *word != words[0]);
    let variant = named.map(|(word, _)| word).collect::<Vec<_>>().join("_");
    let (op, is_exclusive) = (Op::named(op), kind == KINDS[1]);
    Ok(Box::new(Scan::<T> { n, op, is_exclusive, variant, data, resident, input: OnceLock::new() }))
}

#[cfg(test)]
mod tests;
