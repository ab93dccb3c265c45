//! The two factors: numbers with so few bits that no sum of their products is rounded.

use crate::data::{element, generate};

/// The number of bits of the elements: those of the first matrix are odd multiples of 2^-`a` in -1 to 1, and those of
/// the second of 2^-`b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) a: u32,
    pub(super) b: u32,
}

/// The number of bits when sums are short. TF32 and bfloat16 keep 11 and 8 bits, so they round the first matrix's 12
/// bits, and a product computed with them is wrong.
const MOST: Bits = Bits { a: 12, b: 3 };

/// The bits of an f32's significand: a whole multiple of 2^-p is exact up to 2^(24 - p).
pub(super) const SIGNIFICAND: u32 = f32::MANTISSA_DIGITS;

/// The number of standard deviations of a sum of k products that fit into the range of exact numbers.
const MARGIN: u128 = 16;

impl Bits {
    /// For sums of `k` products.
    ///
    /// The mean square of either factor is below 1/3, so that the standard deviation of a sum is below
    /// √k / 3: `MARGIN` times that is at most 2^(24 - a - b).
    pub(super) fn of(k: usize) -> Self {
        let fits = |bits: Self| {
            let exact = 1u128 << (SIGNIFICAND - bits.product());
            MARGIN * MARGIN * k as u128 <= 9 * exact * exact
        };
        let mut bits = MOST;
        while !fits(bits) && bits.product() > 2 {
            if bits.b > 1 {
                bits.b -= 1;
            } else {
                bits.a -= 1;
            }
        }
        bits
    }

    /// The number of bits of a product: it is an odd multiple of 2^-`product()`, and sums are multiples of that.
    pub(super) fn product(self) -> u32 {
        self.a + self.b
    }
}

/// Two matrices to multiply.
pub(super) struct Inputs {
    /// The sizes m, n and k.
    pub(super) sides: [usize; 3],
    pub(super) bits: Bits,
    pub(super) a: Vec<f32>,
    /// Row after row, and column after column.
    pub(super) b: [Vec<f32>; 2],
}

/// A number in -1 to 1, an odd multiple of 2^-`bits`, the same on every machine.
fn number(index: u32, bits: u32) -> f32 {
    let multiple = (element(index) >> (32 - bits)) * 2 + 1;
    multiple as f32 / (1 << bits) as f32
}

impl Inputs {
    pub(super) fn new([m, n, k]: [usize; 3]) -> Self {
        let bits = Bits::of(k);
        let b = |row: usize, column: usize| number(!((row * n + column) as u32), bits.b);
        let (first, second) = ((m * k) as u64, (k * n) as u64);
        Self {
            sides: [m, n, k],
            bits,
            a: generate(first, |at| number(at, bits.a)),
            b: [
                generate(second, |at| b(at as usize / n, at as usize % n)),
                generate(second, |at| b(at as usize % k, at as usize / k)),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
