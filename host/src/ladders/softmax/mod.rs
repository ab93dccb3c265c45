//! The softmax or RMSNorm of each row of a matrix in bfloat16, half precision or f32.
//!
//! Each kernel has the parameters `(input: *const T, output: *mut T, …, n: u32)`, for row-major matrices of `m` rows
//! and `n` columns, and computes in f32. `kernels_gpu::softmax` defines both operations, and
//! `kernels_gpu::softmax::row` defines the result of a row with infinities or NaN.
//!
//! Effective bandwidth counts one read and one write of every element, and one read of the weight.
//!
//! # The bound on the error
//! With the unit roundoff u = 2^-24 of f32, to first order:
//!
//! - An exponential of x - max has a relative error of at most (4 + 3 t) u, with t = max - x. `ex2.approx` has an error
//!   of 2 ulp (PTX ISA, "ex2"), which is 4 u. The difference, the product with log2(e), and that constant each have an
//!   error of u. Together they change the exponent by 3 t u.
//! - An exponential goes through at most k additions until it is part of the sum. With each addition, an online softmax
//!   rescales the sum, which adds the errors of an exponential (4 u), a product (u) and a sum (u). The distances of the
//!   maxima add up to t. So the error of the sum is at most (4 + 6 k + 3 T) u, with T the mean of t weighted by the
//!   exponentials.
//! - An element is its weight (an exponential) times a factor. The factor is another exponential times the reciprocal
//!   of the sum. The distances of both exponentials add up to t. Their constant errors add up to 8 u, the error of the
//!   reciprocal is u, and the two products add 2 u.
//! - So the error of an element is at most (15 + 6 k + 3 t + 3 T) u. An exponential below 2^-126 is flushed to 0, so an
//!   element can have an additional error of 2^-125.
//! - The error of the sum of squares of an RMSNorm is at most (k + 1) u. The quotient by n, n in f32, and the sum with
//!   1e-6 add 3 u. The root halves this error. The root, its reciprocal, and two products add 4 u. The total is
//!   (k / 2 + 6) u.
//!
//! k is n in the first rung. In every other rung, a thread handles at most n / 32 + 8 elements, and at most 16
//! additions combine the results of threads and blocks. The allowed range of an element is the interval within this
//! error of the reference, with both ends rounded to the type of the elements. A NaN must be NaN, and an exact 0 must
//! be 0.

mod problem;
mod reference;

use engine::Error;
use engine::options::{Kind, Opt, Options};
use engine::problem::Problem;
use engine::registry::{Effort, Ladder, ShownColumns};

use super::gemm::formats::Format;
use crate::data::MAX_ELEMENTS;
use problem::{DATA, Data, Rows};
use reference::Op;

/// The operations.
const OPS: &[&str] = &["softmax", "rmsnorm"];

/// The types of the elements.
const TYPES: &[&str] = &["bf16", "f16", "f32"];

pub(super) const LADDER: Ladder = Ladder {
    name: "softmax",
    summary: "the softmax of each row of a matrix, or its RMSNorm",
    rungs: kernels_gpu::softmax::RUNGS,
    options: &[
        Opt::size("m", "M", "2^15", "Number of rows"),
        Opt::size("n", "N", "2^10", "Number of columns, the elements of a row"),
        Opt::word("op", "OP", OPS, "The operation on each row"),
        Opt::word("type", "TYPE", TYPES, "The type of the elements"),
        Opt::word(
            "data",
            "DATA",
            DATA,
            "The elements: random (normally distributed), constant, special (rows with NaN, infinities, large and small \
             numbers), or masked (each row ends with some -inf)",
        ),
        Opt {
            name: "resident",
            metavar: "BLOCKS",
            kind: Kind::SizeOr("device"),
            default: "device",
            help: "Blocks in rungs whose blocks process several rows: all that fit on the device, or at most BLOCKS",
        },
    ],
    blocks: &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]],
    block_rule: "a power of two from 64 to 1024",
    sweep,
    problem,
    shown: ShownColumns::MEMORY,
};

/// Shapes that expose a wrong comparison or offset. The row lengths are primes and numbers around the sizes of warps,
/// vectors, blocks and the longest rows of blocks. Rows start at any offset from a multiple of 16 bytes. The numbers of
/// rows are around the sizes of warps and blocks.
const EDGES: &[(u64, u64)] = &[
    (0, 0),
    (0, 5),
    (7, 0),
    (1, 1),
    (300, 1),
    (3, 2),
    (130, 3),
    (5, 5),
    (9, 7),
    (4, 8),
    (9, 9),
    (3, 15),
    (5, 16),
    (4, 17),
    (3, 31),
    (33, 32),
    (3, 33),
    (127, 48),
    (2, 63),
    (5, 64),
    (3, 65),
    (2, 100),
    (2, 127),
    (129, 128),
    (2, 129),
    (7, 255),
    (5, 256),
    (3, 257),
    (2, 383),
    (2, 511),
    (5, 512),
    (2, 513),
    (2, 640),
    (3, 767),
    (2, 997),
    (3, 1000),
    (2, 1023),
    (5, 1024),
    (3, 1025),
    (1, 1536),
    (2, 1999),
    (1, 2047),
    (3, 2048),
    (1, 2049),
    (2, 2056),
    (1, 3072),
    (1, 4095),
    (2, 4096),
    (1, 4097),
    (1, 4104),
    (1, 6001),
    (1, 7919),
    (1, 8192),
    (1, 8193),
    (1, 8200),
    (1, 10_007),
    (1, 12_288),
    (1, 16_384),
    (1, 16_385),
    (1, 16_392),
];

fn sweep(effort: Effort) -> Vec<Options> {
    let larger: &[(u64, u64)] = effort.pick(
        &[
            (1, 32_768),
            (1, 32_776),
            (2, 57_344),
            (1, 57_352),
            (3, 65_536),
            (2, 65_537),
            (1, 99_991),
            (3, 131_072),
            (2, 131_080),
            (1, 262_143),
            (2, 262_144),
            (1, 262_152),
            (1, 458_752),
            (1, 524_288),
            (1, 524_296),
            (1, 1_000_003),
            (32_768, 1000),
            (5000, 4096),
            (700, 16_384),
            (300, 65_536),
            (150, 262_144),
            (1_000_003, 3),
        ],
        &[(1, 32_776), (2, 57_352), (2, 65_536), (1, 65_537), (1, 131_080), (1, 262_144), (1, 262_151), (700, 8)],
        &[(1, 65_544)],
    );
    // Only the default variant is checked with all of these shapes. The shapes for the other
    // variants include a row of suitable length for each block of each rung.
    let others: &[(u64, u64)] = effort.pick(
        &[(0, 0), (1, 1), (7, 4), (9, 33), (40, 1000), (3, 1024), (2, 4097), (3, 8192), (2, 20_000), (1, 262_144)],
        &[(1, 1), (7, 4), (9, 33), (5, 1000), (2, 1024), (1, 4097), (2, 8192), (1, 20_000)],
        &[
            (1, 1),
            (3, 36),
            (2, 1001),
            (1, 3000),
            (1, 5000),
            (1, 12_000),
            (1, 24_000),
            (1, 50_000),
            (1, 100_000),
            (1, 200_000),
            (1, 400_000),
        ],
    );
    let with = |&(m, n): &(u64, u64)| Options::default().with("m", m).with("n", n);
    let mut all: Vec<Options> = EDGES.iter().chain(larger).map(with).collect();
    let variants = || OPS.iter().flat_map(|op| TYPES.iter().map(move |word| (op, word)));
    for shape in others {
        all.extend(variants().map(|(op, word)| with(shape).with("op", op).with("type", word)));
    }
    for data in &DATA[1..] {
        for (op, word) in variants() {
            all.push(with(&(12, 300)).with("op", op).with("type", word).with("data", data));
        }
        all.push(with(&(12, 1024)).with("data", data));
    }
    // Cases in which blocks and clusters process several rows.
    for (shape, resident) in [((11, 264), 2), ((7, 1000), 8), ((5, 5000), 1), ((20, 24), 16)] {
        all.extend(
            variants().map(|(op, word)| with(&shape).with("op", op).with("type", word).with("resident", resident)),
        );
    }
    all
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let resident = options.maybe_size("resident").map_or(Ok(None), |resident| match u32::try_from(resident) {
        Ok(resident) if resident > 0 => Ok(Some(resident)),
        _ => Err(Error::out_of_bounds(LADDER.name, "resident", resident, &format!("1 to {}", u32::MAX))),
    })?;
    let [m, n] = ["m", "n"].map(|side| options.size_within(side, 0..=MAX_ELEMENTS));
    let (m, n) = (m?, n?);
    if m * n > MAX_ELEMENTS {
        return Err(Error::too_large(LADDER.name, &format!("{m} × {n}"), MAX_ELEMENTS));
    }
    let op = if options.text("op") == OPS[0] { Op::Softmax } else { Op::RmsNorm };
    let format = match options.text("type") {
        "f32" => Format::F32,
        word => Format::named(word),
    };
    let data = Data::named(options.text("data"));
    Ok(Box::new(Rows::new([m, n], (op, format, data), resident)))
}

#[cfg(test)]
mod tests;
