//! The reference: the allowed ranges of all elements, or of a sample of elements and of the sums of rows.

use std::fmt;

use rayon::prelude::*;

use super::formats::Format;
use super::inputs::{Data, Inputs};
use crate::data::element;

/// The number of multiplications, and the number of elements, up to which every element is compared.
const WHOLE: u128 = 1 << 30;
const MOST_ELEMENTS: usize = 1 << 26;

/// The numbers of rows, columns and products per sum that are computed at once. The numbers are small enough for the
/// part of B to stay in the caches nearest to a core.
const ROWS: usize = 16;
const COLUMNS: usize = 32;
const DEPTH: usize = 256;

/// The side of a patch. One element of each patch is compared.
const PATCH: usize = 32;

/// The u in the error bound (k + 1) u Σ|a b| of an f32 sum (Higham, *Accuracy and Stability of Numerical Algorithms*,
/// 2nd edition, §3.1). For rounded sums, u would be 2^-24, but tensor cores truncate.
const TRUNCATION: f64 = 1.0 / (1u32 << 23) as f64;

/// The smallest positive f32, which is the maximum error of a subnormal product or sum.
const LEAST: f64 = f32::from_bits(1) as f64;

/// A sum of products, and the sum of the products' magnitudes.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    size: f64,
}

impl Sum {
    fn add(&mut self, product: f64) {
        self.value += product;
        self.size += product.abs();
    }
}

/// The allowed range of an element: a number from `least` to `most`, or NaN if both ends are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AllowedRange {
    least: f32,
    most: f32,
}

impl AllowedRange {
    fn has(self, found: f32) -> bool {
        (self.least <= found && found <= self.most) || (self.least.is_nan() && found.is_nan())
    }
}

impl fmt::Display for AllowedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most || self.least.is_nan() {
            true => write!(f, "{:e}", self.least),
            false => write!(f, "{:e} to {:e}", self.least, self.most),
        }
    }
}

/// A wrong element, or a row with a wrong sum.
#[derive(Debug, PartialEq)]
pub(super) struct WrongElement {
    pub(super) at: usize,
    /// The allowed range of the element. `None` if only the sum of its row is known to be wrong.
    pub(super) right: Option<AllowedRange>,
}

/// The reference results for an output format.
pub(super) struct Reference {
    out: Format,
    results: Results,
}

enum Results {
    /// The ranges of all elements, row-major.
    Whole(Vec<AllowedRange>),
    /// `elements` holds one element of each patch, by columns of patches. `rows` holds, for each row, the sum of its
    /// elements times their columns' [sign]s, and the sum of all products' magnitudes.
    Sampled { elements: Vec<(usize, AllowedRange)>, rows: Vec<Sum> },
}

impl Reference {
    pub(super) fn new(inputs: &Inputs, out: Format) -> Self {
        let [m, n, k] = inputs.sides;
        let is_whole = m as u128 * n as u128 * k as u128 <= WHOLE && m * n <= MOST_ELEMENTS;
        Self { out, results: if is_whole { whole(inputs, out) } else { sampled(inputs, out) } }
    }

    /// Returns the first wrong element of `found`.
    pub(super) fn first_wrong(&self, inputs: &Inputs, found: &(dyn Fn(usize) -> f32 + Sync)) -> Option<WrongElement> {
        let wrong = |(at, right): (usize, AllowedRange)| {
            (!right.has(found(at))).then_some(WrongElement { at, right: Some(right) })
        };
        match &self.results {
            Results::Whole(all) => {
                all.par_iter().enumerate().with_min_len(1 << 14).find_map_first(|(at, right)| wrong((at, *right)))
            }
            Results::Sampled { elements, rows } => {
                let of_elements = elements.par_iter().find_map_first(|one| wrong(*one));
                let rows = || rows.par_iter().enumerate();
                of_elements.or_else(|| rows().find_map_first(|(row, sum)| self.wrong_row(inputs, row, *sum, found)))
            }
        }
    }

    /// Compares a row's sum, in which each element is multiplied by its column's sign.
    fn wrong_row(
        &self,
        inputs: &Inputs,
        row: usize,
        right: Sum,
        found: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Option<WrongElement> {
        let [_, n, k] = inputs.sides;
        let mut found_sum = Sum::default();
        (0..n).for_each(|column| found_sum.add(f64::from(found(row * n + column)) * sign(column)));
        // If an element is NaN or infinite, the row's sum cannot be compared, and only the sampled elements are.
        let may_be_infinite = inputs.data == Data::Special;
        if !right.value.is_finite() || (may_be_infinite && !found_sum.value.is_finite()) {
            return None;
        }
        let rounding = if self.out == Format::F32 { 0.0 } else { 0.5f64.powi(self.out.digits()) };
        let error = error(right.size, k, inputs.data)
            + rounding * found_sum.size
            + n as f64 * self.out.least()
            + (n + k) as f64 * f64::EPSILON * (found_sum.size + right.size);
        if (found_sum.value - right.value).abs() <= error {
            return None;
        }
        let elements = (0..n).step_by(COLUMNS).flat_map(|left| {
            let width = COLUMNS.min(n - left);
            let sums = tile(inputs, (row, 1), (left, width));
            (0..width).map(move |column| (row * n + left + column, sums[0][column])).collect::<Vec<_>>()
        });
        let mut rights = elements.map(|(at, sum)| (at, right_of(sum, inputs, self.out)));
        let wrong = rights.find(|(at, right)| !right.has(found(*at)));
        let right = wrong.map(|(_, right)| right);
        Some(WrongElement { at: wrong.map_or(row * n, |(at, _)| at), right })
    }
}

/// Returns the sign of a column in the sum of a row.
fn sign(column: usize) -> f64 {
    if element(column as u32 ^ 0x51ed_270b) < 0 { -1.0 } else { 1.0 }
}

/// Returns the error bound of an f32 sum of `k` products whose magnitudes add up to `size`.
fn error(size: f64, k: usize, data: Data) -> f64 {
    if data == Data::Exact { 0.0 } else { (k + 1) as f64 * (TRUNCATION * size + LEAST) }
}

/// Returns the allowed range of an element: the sum plus or minus its error bound, rounded once.
fn right_of(sum: Sum, inputs: &Inputs, out: Format) -> AllowedRange {
    let k = inputs.sides[2];
    let error = match sum.value.is_finite() {
        true => error(sum.size, k, inputs.data),
        false => 0.0,
    };
    let mut right = AllowedRange { least: out.round(sum.value - error), most: out.round(sum.value + error) };
    // If the sum of the positive products, or of the negative products, exceeds the range of an f32, then overflow
    // depends on the order of addition.
    let most = f64::from(f32::MAX) * (1.0 - (k + 1) as f64 * TRUNCATION);
    if sum.size.is_finite() && sum.size > most {
        if sum.size + sum.value > 2.0 * most {
            right.most = f32::INFINITY;
        }
        if sum.size - sum.value > 2.0 * most {
            right.least = f32::NEG_INFINITY;
        }
    }
    right
}

/// Returns the sums of the tile of `height` rows and `width` columns that starts at row `top` and column `left`.
fn tile(inputs: &Inputs, (top, height): (usize, usize), (left, width): (usize, usize)) -> Box<[[Sum; COLUMNS]; ROWS]> {
    let k = inputs.sides[2];
    let (mut values, mut sizes) = ([[0f64; COLUMNS]; ROWS], [[0f64; COLUMNS]; ROWS]);
    let mut b = vec![[0f64; COLUMNS]; DEPTH.min(k)];
    let mut a = [0f64; DEPTH];
    for first in (0..k).step_by(DEPTH) {
        let depth = DEPTH.min(k - first);
        for (at, b) in b[..depth].iter_mut().enumerate() {
            inputs.b.read_across_lines(first + at, left, &mut b[..width]);
        }
        for row in 0..height {
            inputs.a.read_line(top + row, first, &mut a[..depth]);
            let (values, sizes) = (&mut values[row][..width], &mut sizes[row][..width]);
            for (a, b) in a[..depth].iter().zip(&b) {
                for ((value, size), b) in values.iter_mut().zip(&mut *sizes).zip(b) {
                    let product = a * b;
                    *value += product;
                    *size += product.abs();
                }
            }
        }
    }
    let mut sums = Box::new([[Sum::default(); COLUMNS]; ROWS]);
    for (row, sums) in sums.iter_mut().enumerate() {
        for (column, sum) in sums.iter_mut().enumerate() {
            *sum = Sum { value: values[row][column], size: sizes[row][column] };
        }
    }
    sums
}

fn whole(inputs: &Inputs, out: Format) -> Results {
    let [m, n, _] = inputs.sides;
    let mut all = vec![AllowedRange { least: 0.0, most: 0.0 }; m * n];
    all.par_chunks_mut(ROWS * n).enumerate().for_each(|(chunk, all)| {
        let (top, height) = (chunk * ROWS, all.len() / n);
        for left in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - left);
            let sums = tile(inputs, (top, height), (left, width));
            for (sums, all) in sums.iter().zip(all.chunks_mut(n)) {
                let rights = &mut all[left..left + width];
                rights.iter_mut().zip(sums).for_each(|(right, sum)| *right = right_of(*sum, inputs, out));
            }
        }
    });
    Results::Whole(all)
}

fn sampled(inputs: &Inputs, out: Format) -> Results {
    let [m, n, k] = inputs.sides;
    let elements = (0..n).into_par_iter().step_by(PATCH).flat_map_iter(|left| {
        let width = PATCH.min(n - left);
        // The sampled row of the patch that starts at row `top`, and the sampled column within the patch.
        let place = |top: usize| {
            let random = element((top * 31 + left) as u32 ^ 0x2545_f491).cast_unsigned() as usize;
            (top + random % PATCH.min(m - top), (random >> 8) % width)
        };
        let mut samples: Vec<_> = (0..m).step_by(PATCH).map(|top| (place(top), Sum::default())).collect();
        let (mut b, mut a) = (vec![[0f64; PATCH]; DEPTH.min(k)], [0f64; DEPTH]);
        for first in (0..k).step_by(DEPTH) {
            let depth = DEPTH.min(k - first);
            for (at, b) in b[..depth].iter_mut().enumerate() {
                inputs.b.read_across_lines(first + at, left, &mut b[..width]);
            }
            for ((row, column), sum) in &mut samples {
                inputs.a.read_line(*row, first, &mut a[..depth]);
                a[..depth].iter().zip(&b).for_each(|(a, b)| sum.add(a * b[*column]));
            }
        }
        let right = move |((row, column), sum)| (row * n + left + column, right_of(sum, inputs, out));
        samples.into_iter().map(right)
    });
    let elements = elements.collect();
    let weighted = inputs.weighted(sign);
    let rows = (0..m).into_par_iter().map(|row| {
        let (mut a, mut sum) = ([0f64; DEPTH], Sum::default());
        for (chunk, weighted) in weighted.chunks(DEPTH).enumerate() {
            let a = &mut a[..weighted.len()];
            inputs.a.read_line(row, chunk * DEPTH, a);
            for (a, [value, size]) in a.iter().zip(weighted) {
                sum.value += a * value;
                sum.size += a.abs() * size;
            }
        }
        sum
    });
    Results::Sampled { elements, rows: rows.collect() }
}

#[cfg(test)]
mod tests;
