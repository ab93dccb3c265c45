//! The reference: the product or, if the product takes too long to compute, weighted sums of its rows.

use rayon::prelude::*;

use super::inputs::Inputs;
use crate::data::element;
use crate::ladders::product::SIGNIFICAND;

/// The number of multiplications up to which the whole product is computed.
const WHOLE: u128 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Compares every element.
    Whole,
    /// Compares a weighted sum of each row (Freivalds, *Probabilistic Machines Can Use Less Running Time*, 1977).
    Sums,
}

impl Method {
    pub(super) fn of([m, n, k]: [usize; 3]) -> Self {
        if m as u128 * n as u128 * k as u128 <= WHOLE { Self::Whole } else { Self::Sums }
    }
}

/// The reference result.
pub(super) enum Reference {
    /// The product in row-major order.
    Whole(Vec<f32>),
    /// The columns' weights, and the weighted sum of each row of the product modulo 2^64. A sum has the same unit as
    /// the products of elements.
    Sums { weights: Vec<u64>, sums: Vec<u64> },
}

#[derive(Debug, PartialEq)]
pub(super) struct WrongElement {
    pub(super) at: usize,
    pub(super) right: f32,
}

impl Reference {
    pub(super) fn new(method: Method, inputs: &Inputs) -> Self {
        match method {
            Method::Whole => Self::Whole(product(inputs)),
            Method::Sums => {
                let [_, n, _] = inputs.sides;
                let weights: Vec<u64> = (0..n as u32).into_par_iter().map(weight).collect();
                // The weighted sums of the product's rows: the first matrix times the weighted sums of the second
                // matrix's rows.
                let second = times(&inputs.b[0], inputs.bits.b, &weights);
                let sums = times(&inputs.a, inputs.bits.a, &second);
                Self::Sums { weights, sums }
            }
        }
    }

    /// Returns the first wrong element of `found`.
    pub(super) fn first_wrong(&self, inputs: &Inputs, found: &[f32]) -> Option<WrongElement> {
        let [_, n, k] = inputs.sides;
        match self {
            Self::Whole(product) => {
                const AT_ONCE: usize = 1 << 14;
                let pieces = found.par_chunks(AT_ONCE).zip(product.par_chunks(AT_ONCE));
                pieces
                    .enumerate()
                    .find_map_first(|(piece, (found, right))| first_difference(found, right, piece * AT_ONCE))
            }
            Self::Sums { weights, sums } => {
                let scale = (1u32 << inputs.bits.product()) as f32;
                let rows = found.par_chunks(n).zip(sums).enumerate();
                rows.find_map_first(|(row, (found, &sum))| {
                    if weighted(found, scale, weights) == Some(sum) {
                        return None;
                    }
                    let mut right = vec![0.0; n];
                    band(&inputs.a[row * k..][..k], &inputs.b[0], &mut right, [n, k]);
                    first_difference(found, &right, row * n)
                })
            }
        }
    }
}

/// Returns the first element that differs from `right`. Its index is counted from `start`. NaNs are wrong, and -0
/// equals 0.
fn first_difference(found: &[f32], right: &[f32], start: usize) -> Option<WrongElement> {
    let mut pairs = found.iter().zip(right).enumerate();
    let (at, (_, &right)) = pairs.find(|(_, (found, right))| found != right)?;
    Some(WrongElement { at: start + at, right })
}

/// Returns the weight of a column: 63 bits that are independent of the inputs, followed by a 1. Because the weight is
/// odd, any error of a single element changes the weighted sum of its row.
fn weight(column: u32) -> u64 {
    let half = |salt: u32| {
        let mixed = element(element(column).cast_unsigned() ^ salt);
        u64::from(mixed.cast_unsigned())
    };
    half(0x51ed_270b) << 32 | half(0x2545_f491) | 1
}

/// Returns the product of `matrix` and `weights`, modulo 2^64. The elements of the row-major `matrix` are odd multiples
/// of 2^-`bits`.
fn times(matrix: &[f32], bits: u32, weights: &[u64]) -> Vec<u64> {
    let scale = (1u32 << bits) as f32;
    let rows = matrix.par_chunks(weights.len());
    rows.map(|row| {
        let terms = row.iter().zip(weights).map(|(&value, weight)| {
            let multiple = (value * scale) as i32;
            i64::from(multiple).cast_unsigned().wrapping_mul(*weight)
        });
        terms.fold(0, u64::wrapping_add)
    })
    .collect()
}

/// Returns the weighted sum of a row of the product, in units of 1 / `scale` and modulo 2^64. Returns `None` if an
/// element is not a multiple of the unit, or is so large that it could have been rounded.
fn weighted(row: &[f32], scale: f32, weights: &[u64]) -> Option<u64> {
    let mut are_multiples = true;
    let mut sum = 0u64;
    for (&value, &weight) in row.iter().zip(weights) {
        let scaled = value * scale;
        // NaN converts to 0, and 0 does not equal NaN. A value that is too large converts to the largest integer, which
        // exceeds the bound on exact values.
        let multiple = scaled as i32;
        are_multiples &= multiple as f32 == scaled && multiple.unsigned_abs() <= 1 << SIGNIFICAND;
        sum = sum.wrapping_add(i64::from(multiple).cast_unsigned().wrapping_mul(weight));
    }
    are_multiples.then_some(sum)
}

/// The numbers of rows and columns of the product that are computed at once. These numbers are small enough for the
/// sums to stay in a core's nearest cache.
const ROWS: usize = 8;
const COLUMNS: usize = 256;

/// Computes the row-major product in bands of rows on all cores.
fn product(inputs: &Inputs) -> Vec<f32> {
    let [m, n, k] = inputs.sides;
    let mut product = vec![0.0; m * n];
    let bands = product.par_chunks_mut(ROWS * n);
    bands.zip(inputs.a.par_chunks(ROWS * k)).for_each(|(product, a)| band(a, &inputs.b[0], product, [n, k]));
    product
}

/// Computes up to `ROWS` rows of the product of `a` and `b`. `b` consists of `k` rows of `n` elements.
///
/// The sums are computed in double precision, whose 53 bits hold any possible sum of products of 15 bits each.
fn band(a: &[f32], b: &[f32], product: &mut [f32], [n, k]: [usize; 2]) {
    for left in (0..n).step_by(COLUMNS) {
        let width = COLUMNS.min(n - left);
        let mut sums = [[0f64; COLUMNS]; ROWS];
        let mut wide = [0f64; COLUMNS];
        for i in 0..k {
            for (wide, &b) in wide.iter_mut().zip(&b[i * n + left..][..width]) {
                *wide = f64::from(b);
            }
            for (sums, a) in sums.iter_mut().zip(a.chunks(k)) {
                let a = f64::from(a[i]);
                for (sum, b) in sums[..width].iter_mut().zip(&wide) {
                    *sum += a * b;
                }
            }
        }
        for (sums, row) in sums.iter().zip(product.chunks_mut(n)) {
            for (value, &sum) in row[left..][..width].iter_mut().zip(sums) {
                *value = sum as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests;
