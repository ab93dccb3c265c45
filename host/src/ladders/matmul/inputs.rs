//! The two factors, whose elements have so few bits that no sum of products is rounded.

use crate::data::generate;
use crate::ladders::product::{Bits, Extent, number};

/// The numbers of bits for short sums. The significands of TF32 and bfloat16 have 11 and 8 bits. Conversion to these
/// formats would round the first matrix's 12 bits, so the check detects a product in these formats.
const MOST: Bits = Bits { a: 12, b: 3 };

/// Two matrices to multiply.
pub(super) struct Inputs {
    /// The sizes m, n and k.
    pub(super) sides: [usize; 3],
    pub(super) bits: Bits,
    pub(super) a: Vec<f32>,
    /// The second matrix, row-major and column-major.
    pub(super) b: [Vec<f32>; 2],
}

impl Inputs {
    #[cfg(test)]
    pub(super) fn new(sides: [usize; 3]) -> Self {
        Self::of(sides[1], &Extent::whole(sides))
    }

    /// Creates the factors for a part of a product that has `n` columns. The elements have the same values as in the
    /// whole product.
    pub(super) fn of(n: usize, extent: &Extent) -> Self {
        let bits = Bits::of(extent.whole_depth, MOST);
        let [m, n, k] = extent.sides(n);
        let (top, left, whole) = (extent.rows.start, extent.depth.start, extent.whole_depth);
        let a = |row: usize, column: usize| number(((top + row) * whole + left + column) as u32, bits.a);
        let b = |row: usize, column: usize| number(!(((left + row) * n + column) as u32), bits.b);
        let (first, second) = ((m * k) as u64, (k * n) as u64);
        Self {
            sides: [m, n, k],
            bits,
            a: generate(first, |at| a(at as usize / k, at as usize % k)),
            b: [
                generate(second, |at| b(at as usize / n, at as usize % n)),
                generate(second, |at| b(at as usize % k, at as usize / k)),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
