//! The reference: the allowed range of each element of the output.

use std::fmt;

use engine::problem::POISON;
use rayon::prelude::*;

use super::data::Format;
use super::problem::{Attention, Lengths};
use crate::data::element;

/// The number of multiplications up to which every row is compared, and the number of multiplications for a sample.
const WHOLE: u64 = 1 << 30;
const SAMPLED: u64 = 1 << 31;

/// The unit of the error bound of an f32 sum. The unit would be 2^-24 for rounded sums, but tensor cores truncate.
const TRUNCATION: f64 = 1.0 / (1u32 << 23) as f64;

/// The minimum number of keys in a tile. After each tile, a kernel can multiply its sums by the power for a new
/// maximum.
const LEAST_TILE: usize = 16;

/// The smallest weight, relative to the greatest weight, that `ex2.approx.ftz` does not flush to 0. This bound includes
/// a margin for weights that are computed with an earlier maximum.
const FLUSHED: f64 = f32::MIN_POSITIVE as f64;

/// The allowed range of an element: a number from `least` to `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AllowedRange {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl AllowedRange {
    fn has(self, found: f64) -> bool {
        self.least <= found && found <= self.most
    }
}

impl fmt::Display for AllowedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.least as f32, self.most as f32);
        if least == most { write!(f, "{least:e}") } else { write!(f, "{least:e} to {most:e}") }
    }
}

/// The reference results of a problem.
pub(super) struct Reference {
    /// The compared rows in ascending order, each with the ranges of its elements.
    pub(super) rows: Vec<(usize, Vec<AllowedRange>)>,
    /// The least and the greatest element of each column of each head. Empty if all rows are compared.
    columns: Vec<AllowedRange>,
}

impl Reference {
    pub(super) fn new(problem: &Attention) -> Self {
        Self::with_limits(problem, WHOLE, SAMPLED)
    }

    /// Computes the reference of all rows if they take up to `whole` multiplications. Otherwise computes the reference
    /// of a sample that takes about `sampled` multiplications.
    pub(super) fn with_limits(problem: &Attention, whole: u64, sampled: u64) -> Self {
        let Lengths { queries, keys, d, .. } = problem.lengths;
        let rows = problem.lengths.all_heads() * queries;
        let multiplications_per_row = 2 * keys.max(1) as u64 * d as u64;
        let is_whole = rows as u64 * multiplications_per_row <= whole;
        let compared = match is_whole {
            true => (0..rows).collect(),
            false => sample(&problem.lengths, (sampled / multiplications_per_row) as usize),
        };
        let values = Values::new(problem);
        let rows = compared.into_par_iter().map(|row| (row, values.ranges_of(row))).collect();
        Self { rows, columns: if is_whole { Vec::new() } else { values.columns() } }
    }

    /// Returns the index of the first wrong element of `found`, and its allowed range.
    pub(super) fn first_wrong(&self, problem: &Attention, found: &[u16]) -> Option<(usize, AllowedRange)> {
        let Lengths { heads, kv_heads, queries, d, .. } = problem.lengths;
        let wrong = |row: usize, right: &[AllowedRange]| {
            let found = &found[row * d..][..d];
            let column = (0..d).find(|&column| !right[column].has(problem.format.decode(found[column])))?;
            Some((row * d + column, right[column]))
        };
        let compared = self.rows.par_iter().find_map_first(|(row, right)| wrong(*row, right));
        if self.columns.is_empty() || compared.is_some() {
            return compared;
        }
        (0..found.len() / d).into_par_iter().find_map_first(|row| {
            let right = &self.columns[row / queries / (heads / kv_heads) * d..][..d];
            let is_unwritten = found[row * d..][..d].iter().all(|&bits| bits == u16::from_ne_bytes([POISON; 2]));
            if is_unwritten { Some((row * d, right[0])) } else { wrong(row, right) }
        })
    }
}

/// Returns about `count` rows of the output in ascending order, spread over all heads.
fn sample(lengths: &Lengths, count: usize) -> Vec<usize> {
    let Lengths { queries, keys, .. } = *lengths;
    let heads = lengths.all_heads();
    // The first queries that see a key, and the first queries that see more than one tile and more than two tiles.
    let edge = queries.saturating_sub(keys);
    let fixed = [0, 1, edge.saturating_sub(1), edge, edge + 64, edge + 128, queries - 2, queries - 1];
    let in_head = (count / heads).saturating_sub(fixed.len()).max(1);
    let stretch = queries.div_ceil(in_head);
    let rows = (0..heads).flat_map(|head| {
        let random = |start: usize| {
            let random = element((head * queries + start) as u32 ^ 0x2545_f491).cast_unsigned() as usize;
            start + random % stretch
        };
        let mut all: Vec<usize> = fixed.into_iter().chain((0..queries).step_by(stretch).map(random)).collect();
        all.retain(|&query| query < queries);
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(move |query| head * queries + query)
    });
    rows.collect()
}

/// The inputs, decoded to numbers.
struct Values<'a> {
    problem: &'a Attention,
    k: Vec<f32>,
    v: Vec<f32>,
}

impl<'a> Values<'a> {
    fn new(problem: &'a Attention) -> Self {
        let decode = |bits: &Vec<u16>| bits.par_iter().map(|&bits| problem.format.decode(bits) as f32).collect();
        let [_, k, v] = problem.inputs();
        Self { problem, k: decode(k), v: decode(v) }
    }

    /// Returns the least and the greatest element of each column of each head of V. The range includes 0 if there are
    /// queries that see no key.
    fn columns(&self) -> Vec<AllowedRange> {
        let Lengths { batch, kv_heads, keys, d, .. } = self.problem.lengths;
        let column = |at: usize| {
            let (head, column) = (at / d, at % d);
            let all = (0..keys).map(|key| f64::from(self.v[(head * keys + key) * d + column]));
            all.fold(AllowedRange { least: 0.0, most: 0.0 }, |AllowedRange { least, most }, v| AllowedRange {
                least: least.min(v),
                most: most.max(v),
            })
        };
        (0..batch * kv_heads * d).into_par_iter().map(column).collect()
    }

    /// Returns the allowed ranges of the elements of a row.
    fn ranges_of(&self, row: usize) -> Vec<AllowedRange> {
        let Attention { lengths, format, data, .. } = self.problem;
        let Lengths { heads, kv_heads, queries, keys, d, .. } = *lengths;
        let first_key = row / queries / (heads / kv_heads) * keys;
        let seen = lengths.seen(row % queries);
        if seen == 0 {
            return vec![AllowedRange { least: 0.0, most: 0.0 }; d];
        }
        let q: Vec<f64> = self.problem.inputs()[0][row * d..][..d].iter().map(|&bits| format.decode(bits)).collect();
        // For each key, the score and the sum of its products' magnitudes, both times the scale.
        let scale = std::f64::consts::LOG2_E / (d as f64).sqrt();
        let scores: Vec<[f64; 2]> = (first_key..first_key + seen)
            .map(|key| {
                let k = &self.k[key * d..][..d];
                let products = q.iter().zip(k).map(|(q, k)| q * f64::from(*k));
                let [score, size] = products.fold([0.0, 0.0], |[sum, size], x| [sum + x, size + x.abs()]);
                [score * scale, size * scale]
            })
            .collect();
        let greatest = (0..seen).max_by(|&a, &b| scores[a][0].total_cmp(&scores[b][0])).unwrap_or(0);
        let most = scores.iter().map(|[score, _]| score.abs()).fold(0.0, f64::max);
        let rescalings = (seen / LEAST_TILE + 1) as f64;
        // δ, the error of the exponent of each key's weight.
        let rounding_error = rescalings * TRUNCATION * (8.0 * most + 4.0);
        let score_error = if data.has_exact_scores() { 0.0 } else { (d + 1) as f64 * TRUNCATION };
        let exponent_error = |key: usize| score_error * scores[key][1] + rounding_error;
        let weights: Vec<f64> = scores.iter().map(|[score, _]| (score - scores[greatest][0]).exp2()).collect();
        let sum: f64 = weights.iter().sum();
        // The error of each weight, with both ways to bound it: with separate errors, and relative to the greatest
        // weight.
        let separate = |key: usize| exponent_error(key).exp2() - 1.0;
        let relative = |key: usize| {
            if key == greatest { 0.0 } else { (exponent_error(key) + exponent_error(greatest)).exp2() - 1.0 }
        };
        let bound = Bound { format: *format, v: &self.v[first_key * d..], d, weights: &weights, sum, rescalings };
        let (value, separate, relative) = (bound.values(), bound.errors(&separate), bound.errors(&relative));
        let range = |column: usize| {
            let error = separate[column].min(relative[column]);
            let round = |value: f64| format.decode(format.encode(value));
            AllowedRange { least: round(value[column] - error), most: round(value[column] + error) }
        };
        (0..d).map(range).collect()
    }
}

/// The sums from which a row's elements and their error bounds are computed.
struct Bound<'a> {
    format: Format,
    v: &'a [f32],
    d: usize,
    weights: &'a [f64],
    sum: f64,
    rescalings: f64,
}

impl Bound<'_> {
    /// Returns, for each column, the sum over all keys of `factor` times `function` of the column's element.
    fn sums(&self, factor: impl Fn(usize) -> f64, function: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.d];
        for key in 0..self.weights.len() {
            let (factor, v) = (factor(key), &self.v[key * self.d..][..self.d]);
            sums.iter_mut().zip(v).for_each(|(sum, v)| *sum += factor * function(f64::from(*v)));
        }
        sums
    }

    /// Returns the exact elements.
    fn values(&self) -> Vec<f64> {
        self.sums(|key| self.weights[key] / self.sum, |v| v)
    }

    /// Returns the bound on each element's error, where `share` is the relative error of each key's weight.
    fn errors(&self, share: &impl Fn(usize) -> f64) -> Vec<f64> {
        let keys = self.weights.len() as f64;
        let sum_error = (keys + self.rescalings + 5.0) * TRUNCATION;
        let [roundoff, least] = self.format.roundoff();
        let lost = least.max(FLUSHED) / self.sum;
        let weight = |key: usize| self.weights[key] / self.sum;
        let mean: f64 = (0..self.weights.len()).map(|key| weight(key) * share(key)).sum();
        let denominator_error = mean + sum_error;
        if denominator_error >= 1.0 {
            return vec![f64::INFINITY; self.d];
        }
        let numerator = |key: usize| weight(key) * (share(key) + roundoff * (1.0 + share(key)) + sum_error) + lost;
        let numerators = self.sums(numerator, f64::abs);
        let terms = numerators.iter().zip(self.values());
        terms
            .map(|(numerator, value)| (numerator + value.abs() * denominator_error) / (1.0 - denominator_error))
            .collect()
    }
}
