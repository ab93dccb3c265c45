//! The two factors: numbers with so few bits that no sum of their products is rounded.

use crate::data::generate;
use crate::ladders::product::{Bits, number};

/// The number of bits when sums are short. TF32 and bfloat16 keep 11 and 8 bits, so they round the first matrix's 12
/// bits, and a product computed with them is wrong.
const MOST: Bits = Bits { a: 12, b: 3 };

/// Two matrices to multiply.
pub(super) struct Inputs {
    /// The sizes m, n and k.
    pub(super) sides: [usize; 3],
    pub(super) bits: Bits,
    pub(super) a: Vec<f32>,
    /// Row after row, and column after column.
    pub(super) b: [Vec<f32>; 2],
}

impl Inputs {
    #[cfg(test)]
    pub(super) fn new(sides: [usize; 3]) -> Self {
        Self::from_row(0, sides)
    }

    /// The factors, of the first one the rows from this one on.
    pub(super) fn from_row(row: usize, [m, n, k]: [usize; 3]) -> Self {
        let bits = Bits::of(k, MOST);
        let b = |row: usize, column: usize| number(!((row * n + column) as u32), bits.b);
        let (first, second) = ((m * k) as u64, (k * n) as u64);
        Self {
            sides: [m, n, k],
            bits,
            a: generate(first, |at| number(at + (row * k) as u32, bits.a)),
            b: [
                generate(second, |at| b(at as usize / n, at as usize % n)),
                generate(second, |at| b(at as usize % k, at as usize / k)),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
