//! The reference of the product: the product itself or, when that takes too long, weighted sums of its rows.

use rayon::prelude::*;

use super::inputs::{Inputs, SIGNIFICAND};
use crate::ladders::reduce::element;

/// The number of multiplications up to which the whole product is computed.
const WHOLE: u128 = 1 << 30;

/// The method of checking a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Compares every element.
    Whole,
    /// Compares a weighted sum of each row (Freivalds, *Probabilistic Machines Can Use Less Running Time*, 1977).
    Sums,
}

impl Method {
    pub(super) fn of([m, n, k]: [usize; 3]) -> Self {
        if m as u128 * n as u128 * k as u128 <= WHOLE {
            Self::Whole
        } else {
            Self::Sums
        }
    }
}

/// The right result.
pub(super) enum Reference {
    /// The product in row-major order.
    Whole(Vec<f32>),
    /// The columns' weights, and the weighted sum of each row of the product, in units of the products of elements and
    /// modulo 2^64.
    Sums { weights: Vec<u64>, sums: Vec<u64> },
}

/// A wrong element.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    /// The index of the element.
    pub(super) at: usize,
    /// The right value.
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

    /// The first element of `found` that is wrong.
    pub(super) fn first_wrong(&self, inputs: &Inputs, found: &[f32]) -> Option<Wrong> {
        let [_, n, k] = inputs.sides;
        match self {
            Self::Whole(product) => {
                const AT_ONCE: usize = 1 << 14;
                let pieces = found.par_chunks(AT_ONCE).zip(product.par_chunks(AT_ONCE));
                pieces
                    .enumerate()
                    .find_map_first(|(piece, (found, right))| {
                        first_difference(found, right, piece * AT_ONCE)
                    })
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

/// The index of the first element, counted from `start`, at which `found` differs from `right`. NaNs are wrong, and -0
/// is 0.
fn first_difference(found: &[f32], right: &[f32], start: usize) -> Option<Wrong> {
    let mut pairs = found.iter().zip(right).enumerate();
    let (at, (_, &right)) = pairs.find(|(_, (found, right))| found != right)?;
    Some(Wrong {
        at: start + at,
        right,
    })
}

/// The weight of a column: 63 bits that are independent of the inputs, followed by a 1, so that a row with a single
/// wrong element always has another sum, whatever the element's error.
fn weight(column: u32) -> u64 {
    let half = |salt: u32| {
        let mixed = element(element(column).cast_unsigned() ^ salt);
        u64::from(mixed.cast_unsigned())
    };
    half(0x51ed_270b) << 32 | half(0x2545_f491) | 1
}

/// The product of `matrix`, whose elements are odd multiples of 2^-`bits` in row-major order, and `weights`, modulo
/// 2^64.
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

/// The weighted sum of a row of the product, in units of 1 / `scale` and modulo 2^64. `None` if an element is not a
/// multiple of the unit, or is so large that it would have been rounded.
fn weighted(row: &[f32], scale: f32, weights: &[u64]) -> Option<u64> {
    let mut are_multiples = true;
    let mut sum = 0u64;
    for (&value, &weight) in row.iter().zip(weights) {
        let scaled = value * scale;
        // A NaN converts to 0, which does not equal it. A value that is too large converts to the largest integer,
        // which exceeds the bound on exact values.
        let multiple = scaled as i32;
        are_multiples &= multiple as f32 == scaled && multiple.unsigned_abs() <= 1 << SIGNIFICAND;
        sum = sum.wrapping_add(i64::from(multiple).cast_unsigned().wrapping_mul(weight));
    }
    are_multiples.then_some(sum)
}

/// The number of rows and of columns of the product that are computed at once: the sums stay in a core's nearest
/// cache.
const ROWS: usize = 8;
const COLUMNS: usize = 256;

/// The product in row-major order, computed in bands of rows on all cores.
fn product(inputs: &Inputs) -> Vec<f32> {
    let [m, n, k] = inputs.sides;
    let mut product = vec![0.0; m * n];
    let bands = product.par_chunks_mut(ROWS * n);
    bands
        .zip(inputs.a.par_chunks(ROWS * k))
        .for_each(|(product, a)| band(a, &inputs.b[0], product, [n, k]));
    product
}

/// Up to `ROWS` rows of the product of `a` and `b`, which has `k` rows of `n`.
///
/// Computed in double precision, whose 53 bits hold any possible sum of products of 15 bits each.
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const METHODS: [Method; 2] = [Method::Whole, Method::Sums];

    const SHAPES: [[usize; 3]; 6] = [
        [1, 1, 1],
        [9, 300, 70],
        [16, 257, 3],
        [2, 1, 1000],
        [1, 513, 2],
        [33, 40, 1],
    ];

    /// What a right kernel leaves: single precision, from the last product to the first.
    fn right(inputs: &Inputs) -> Vec<f32> {
        let [m, n, k] = inputs.sides;
        let element = |row: usize, column: usize| {
            (0..k).rev().fold(0f32, |sum, i| {
                inputs.a[row * k + i].mul_add(inputs.b[0][i * n + column], sum)
            })
        };
        (0..m * n).map(|at| element(at / n, at % n)).collect()
    }

    /// What both methods find, which is the same.
    fn wrong(inputs: &Inputs, found: &[f32]) -> Option<Wrong> {
        let [whole, sums] =
            METHODS.map(|method| Reference::new(method, inputs).first_wrong(inputs, found));
        assert_eq!(whole, sums);
        whole
    }

    #[test]
    fn a_right_product_is_right_by_both_methods() {
        for sides in SHAPES {
            let inputs = Inputs::new(sides);
            let mut found = right(&inputs);
            assert_eq!(wrong(&inputs, &found), None, "{sides:?}");
            for value in found.iter_mut().filter(|value| **value == 0.0) {
                *value = -0.0;
            }
            assert_eq!(wrong(&inputs, &found), None, "{sides:?}");
        }
    }

    #[test]
    fn an_element_that_is_anything_else_is_found_wherever_it_is() {
        for sides in SHAPES {
            let inputs = Inputs::new(sides);
            let right = right(&inputs);
            let unit = 1.0 / (1 << inputs.bits.product()) as f32;
            for at in [0, right.len() / 2, right.len() - 1] {
                for value in [
                    right[at].next_up(),
                    right[at].next_down(),
                    right[at] + unit,
                    right[at] - unit,
                    right[at] + 2f32.powi(24) * unit,
                    2f32.powi(31) * unit,
                    f32::from_ne_bytes([engine::problem::POISON; 4]),
                    f32::MIN_POSITIVE,
                    f32::MAX,
                    f32::NAN,
                    f32::INFINITY,
                    f32::NEG_INFINITY,
                ] {
                    let mut found = right.clone();
                    found[at] = value;
                    // A later one is not the first.
                    if let Some(last) = found.last_mut() {
                        *last += if at + 1 == right.len() { 0.0 } else { 1.0 };
                    }
                    let expected = Wrong {
                        at,
                        right: right[at],
                    };
                    let named = wrong(&inputs, &found);
                    assert_eq!(named, Some(expected), "{sides:?}: {value:e} at {at}");
                }
            }
        }
    }

    #[test]
    fn elements_in_each_others_places_are_found() {
        for sides in [[9, 300, 70], [16, 257, 3], [33, 40, 1]] {
            let inputs = Inputs::new(sides);
            let right = right(&inputs);
            let n = sides[1];
            // In a row, in a column, and whole rows.
            let other = |at: usize, step: usize| {
                let others = (at + step..right.len()).step_by(step);
                others
                    .clone()
                    .find(|&other| right[other] != right[at])
                    .unwrap()
            };
            for at in [0, n + 3, right.len() / 2] {
                for with in [other(at, 1), other(at, n)] {
                    let mut found = right.clone();
                    found.swap(at, with);
                    assert_eq!(wrong(&inputs, &found).unwrap().at, at, "{sides:?}: {with}");
                }
            }
            let mut found = right.clone();
            found.rotate_left(n);
            let first = (0..right.len()).find(|&at| found[at] != right[at]);
            assert_eq!(wrong(&inputs, &found).map(|wrong| wrong.at), first);
        }
    }

    #[test]
    fn a_product_that_lost_precision_is_found() {
        let mut inputs = Inputs::new([20, 20, 64]);
        let references = METHODS.map(|method| Reference::new(method, &inputs));
        // 11 bits of a significand, to the nearest, as TF32 has.
        for a in &mut inputs.a {
            *a = f32::from_bits((a.to_bits() + (1 << 12)) & !((1 << 13) - 1));
        }
        let rounded = right(&inputs);
        let inputs = Inputs::new([20, 20, 64]);
        for reference in &references {
            assert!(reference.first_wrong(&inputs, &rounded).is_some());
        }
    }

    #[test]
    fn only_large_products_are_checked_by_sums() {
        assert_eq!(Method::of([1024; 3]), Method::Whole);
        assert_eq!(Method::of([1024, 1025, 1024]), Method::Sums);
        assert_eq!(Method::of([1, 1, (1 << 31) - 1]), Method::Sums);
        assert_eq!(Method::of([1 << 30, 1, 1]), Method::Whole);
    }
}
