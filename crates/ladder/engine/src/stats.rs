//! Samples of a measurement, and their statistics.

use serde::{Deserialize, Serialize};

/// The sorted samples of one measurement: the times of repeated runs of the same work, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Sorts the samples. Returns `None` when there are no samples.
    pub fn new(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        (!samples.is_empty()).then_some(Self(samples))
    }

    /// Returns all samples, in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.0
    }

    /// Returns the smallest sample.
    pub fn min(&self) -> f64 {
        self.0[0]
    }

    /// Returns the median, which is the mean of the two middle samples if the number of samples is even.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the first and the third quartiles.
    pub fn quartiles(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    /// Returns the value below which the fraction `q` of the samples lies, interpolated between neighboring samples.
    pub fn quantile(&self, q: f64) -> f64 {
        let position = q.clamp(0.0, 1.0) * (self.0.len() - 1) as f64;
        let [lower, upper] = [position.floor(), position.ceil()].map(|at| self.0[at as usize]);
        lower + (upper - lower) * position.fract()
    }
}

#[cfg(test)]
mod tests;
