//! The classes of agreement between two numbers, and the reasons why they can differ.

use std::fmt;

use serde::{Deserialize, Serialize};
use toolkit::access::Change;

use super::metrics::{ComparedMetric, Rule};

/// The agreement of the simulator's number with the GPU's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The numbers are equal to the last decimal place that Nsight Compute writes.
    Exact,
    /// The numbers differ by at most 1 %.
    #[serde(rename = "within 1 %")]
    Within,
    /// The GPU counts at most 6 % more wavefronts of shared memory, because it also counts the passes that arbitration
    /// adds.
    Arbitration,
    /// The numbers differ, and `ptxas` changed instructions that the metric counts.
    Explained,
    /// The numbers differ, and the GPU's number changes from run to run. The kernel waits for other blocks, and its
    /// code does not determine how often it polls.
    Waits,
    /// The numbers differ, and no reason was found.
    Unexplained,
    /// The numbers count different things and are only shown.
    Information,
}

/// The relative difference up to which two numbers are close.
const CLOSE: f64 = 0.01;
/// The maximum relative amount by which the GPU's wavefronts can exceed the simulator's because of arbitration.
const ARBITRATION: f64 = 0.06;
/// Half of the last decimal place that Nsight Compute writes.
const LAST_PLACE: f64 = 0.005;
/// The relative rounding error of numbers that are not written exactly.
const ROUNDING: f64 = 1e-9;

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Class {
    /// Returns the class of two numbers, or `None` if a difference needs an explanation. A missing number differs from
    /// any number.
    pub fn of(rule: Rule, sim: Option<f64>, gpu: Option<f64>) -> Option<Self> {
        if rule == Rule::Information {
            return Some(Self::Information);
        }
        let (Some(sim), Some(gpu)) = (sim, gpu) else {
            return (sim.is_none() && gpu.is_none()).then_some(Self::Exact);
        };
        let difference = (gpu - sim).abs();
        let same = match rule {
            Rule::TwoPlaces => LAST_PLACE + ROUNDING,
            _ => 0.0,
        };
        if difference <= same {
            Some(Self::Exact)
        } else if difference <= CLOSE * sim.abs() {
            Some(Self::Within)
        } else if rule == Rule::Arbitrated && gpu > sim && difference <= ARBITRATION * sim {
            Some(Self::Arbitration)
        } else {
            None
        }
    }
}

/// Describes the changes that can explain why the GPU's number differs from the simulator's in this direction.
pub fn explanations(metric: &ComparedMetric, sim: Option<f64>, gpu: Option<f64>, changes: &[Change]) -> Vec<String> {
    let higher = gpu.unwrap_or(0.0) > sim.unwrap_or(0.0);
    let changes = changes.iter();
    let fitting = changes.filter(|change| metric.is_explained_by(change, higher));
    fitting.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;
