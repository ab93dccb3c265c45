//! Code shared by the ladders of matrix products: sizes, table columns, and factors whose products have exact sums.

use std::ops::Range;

use engine::Error;
use engine::options::{Opt, Options};
use engine::problem::round_down;
use engine::registry::{Column, Ladder, ShownColumns};
use ranks::{Combination, Divide, ElementType, Operation, RankProblem, Share, Side};

use crate::data::{MAX_ELEMENTS, element};

/// The options for the sizes.
pub(super) const M: Opt = Opt::size("m", "M", "1024", "Rows of the first matrix, and of the product");
pub(super) const N: Opt = Opt::size("n", "N", "1024", "Columns of the second matrix, and of the product");
pub(super) const K: Opt = Opt::size("k", "K", "1024", "Columns of the first matrix, and rows of the second");

pub(super) const SHOWN: ShownColumns = ShownColumns {
    timed: &[Column::Time, Column::Flops, Column::OverFirst, Column::OverBefore],
    counted: &[Column::Instructions, Column::Read, Column::Sectors, Column::Wavefronts, Column::Conflicts],
    pictures: false,
};

/// Returns the sizes m, n and k from complete options.
///
/// # Errors
/// Returns [`Error::BadValue`] when a size or a matrix is too large.
pub(super) fn sides(ladder: &Ladder, options: &Options) -> Result<[usize; 3], Error> {
    let side = |name| options.size_within(name, 1..=MAX_ELEMENTS);
    let [m, n, k] = [side("m")?, side("n")?, side("k")?];
    for [rows, columns] in [[m, k], [k, n], [m, n]] {
        if rows * columns > MAX_ELEMENTS {
            let matrix = format!("a matrix of {rows} × {columns}");
            return Err(Error::too_large(ladder.name, &matrix, MAX_ELEMENTS));
        }
    }
    Ok([m, n, k].map(|side| side as usize))
}

/// The part of a product that is computed: a range of the product's rows, and a range of the summands. A summand is the
/// product of a column of the first matrix and a row of the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) rows: Range<usize>,
    pub(super) depth: Range<usize>,
    /// The number of summands of the whole product.
    pub(super) whole_depth: usize,
}

impl Extent {
    /// Returns the extent of a whole product.
    pub(super) fn whole([m, _, k]: [usize; 3]) -> Self {
        Self { rows: 0..m, depth: 0..k, whole_depth: k }
    }

    /// Returns the extent of one rank or one piece.
    ///
    /// # Errors
    /// Returns the reason when there are more shares than rows or summands.
    pub(super) fn share(&self, share: Share, side: Side) -> Result<Self, String> {
        let (whole, what, option) = match side {
            Side::Rows => (&self.rows, "rows", "m"),
            Side::K => (&self.depth, "summands", "k"),
        };
        let (length, count) = (whole.len(), share.count);
        if length < count {
            return Err(format!(
                "{length} {what} cannot be divided into {count} parts; use --{option} {count} or more"
            ));
        }
        let Range { start, end } = share.of(length as u64);
        let range = whole.start + start as usize..whole.start + end as usize;
        Ok(match side {
            Side::Rows => Self { rows: range, ..self.clone() },
            Side::K => Self { depth: range, ..self.clone() },
        })
    }

    /// Returns the sizes m, n and k for `n` columns.
    pub(super) fn sides(&self, n: usize) -> [usize; 3] {
        [self.rows.len(), n, self.depth.len()]
    }
}

/// Returns the share of a product that one rank computes. `make_problem` creates the problem of an extent. If rows are
/// divided, every share needs all of each buffer in `shared`.
///
/// # Errors
/// Returns the errors of [`Extent::share`].
pub(super) fn share(
    extent: &Extent,
    share: Share,
    side: Side,
    shared: &[usize],
    make_problem: impl Fn(Extent) -> Box<dyn Divide>,
) -> Result<RankProblem, String> {
    let problem = make_problem(extent.share(share, side)?);
    let (broadcast, scattered) = match side {
        Side::Rows => (shared.to_vec(), None),
        Side::K => (Vec::new(), Some(make_problem(extent.share(share, Side::Rows)?))),
    };
    Ok(RankProblem { problem, broadcast, scattered })
}

/// Returns how the ranks' results are combined into the product of `n` columns.
pub(super) fn combination(n: usize, extent: &Extent) -> Combination {
    match extent.depth.len() < extent.whole_depth {
        true => Combination::Scatter { element: ElementType::F32, operation: Operation::Sum, unit: n as u64 },
        false => Combination::Gather,
    }
}

/// Returns the sizes as text.
pub(super) fn size([m, n, k]: [usize; 3]) -> String {
    format!("m = {m}, n = {n}, k = {k}")
}

/// Sizes that expose a wrong comparison or offset: partial tiles of every size, and partial groups of the elements
/// that a thread or a warp processes at once.
pub(super) const EDGES: &[[u32; 3]] = &[
    [2, 2, 2],
    [3, 3, 3],
    [4, 4, 4],
    [8, 8, 8],
    [9, 9, 9],
    [31, 31, 31],
    [63, 63, 63],
    [2, 33, 33],
    [3, 33, 33],
    [127, 33, 33],
    [128, 33, 33],
    [129, 33, 33],
    [191, 33, 33],
    [33, 2, 33],
    [33, 4, 33],
    [33, 17, 33],
    [33, 31, 33],
    [33, 64, 33],
    [33, 65, 33],
    [33, 127, 33],
    [33, 129, 33],
    [33, 191, 33],
    [33, 255, 33],
    [33, 256, 33],
    [33, 33, 1],
    [33, 33, 2],
    [33, 33, 3],
    [33, 33, 4],
    [33, 33, 5],
    [33, 33, 7],
    [33, 33, 32],
    [33, 33, 63],
    [65, 65, 65],
];

/// Returns options with these sizes.
pub(super) fn with([m, n, k]: [u32; 3]) -> Options {
    Options::default().with("m", m).with("n", n).with("k", k)
}

/// Returns options for square matrices with about `share` times `elements` elements each, whose sides are multiples of
/// `unit`.
pub(super) fn square(elements: u64, share: f64, unit: u64) -> Options {
    let side = (round_down(elements.isqrt(), share.sqrt()) / unit).max(1) * unit;
    Options::default().with("m", side).with("n", side).with("k", side)
}

/// The number of bits of the elements. Elements of the first matrix are odd multiples of 2^-`a` from -1 to 1, and
/// elements of the second matrix are odd multiples of 2^-`b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) a: u32,
    pub(super) b: u32,
}

/// The number of bits of an f32's significand. A multiple of 2^-p is exact up to 2^(24 - p).
pub(super) const SIGNIFICAND: u32 = f32::MANTISSA_DIGITS;

/// The number of standard deviations of a sum of k products that must fit into the range of exact numbers.
const MARGIN: u128 = 16;

impl Bits {
    /// Returns the bits for sums of `k` products, up to `most`.
    ///
    /// The mean square of either factor is below 1/3, so the standard deviation of a sum is below √k / 3. `MARGIN`
    /// times this bound is at most 2^(24 - a - b).
    pub(super) fn of(k: usize, most: Self) -> Self {
        let fits = |bits: Self| {
            let exact = 1u128 << (SIGNIFICAND - bits.product());
            MARGIN * MARGIN * k as u128 <= 9 * exact * exact
        };
        let mut bits = most;
        while !fits(bits) && bits.product() > 2 {
            if bits.b > 1 {
                bits.b -= 1;
            } else {
                bits.a -= 1;
            }
        }
        bits
    }

    /// Returns the number of bits of a product. A product is an odd multiple of 2^-`product()`, and sums are multiples
    /// of 2^-`product()`.
    pub(super) fn product(self) -> u32 {
        self.a + self.b
    }
}

/// Returns a number from -1 to 1 that is an odd multiple of 2^-`bits` and the same on every machine.
pub(super) fn number(index: u32, bits: u32) -> f32 {
    let multiple = (element(index) >> (32 - bits)) * 2 + 1;
    multiple as f32 / (1 << bits) as f32
}
