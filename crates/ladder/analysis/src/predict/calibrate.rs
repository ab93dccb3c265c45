//! Fits the model's constants to measured times.

use super::Prediction;
use devices::Description;
use profile::model::Constants;

/// A prediction and the measured time in microseconds.
pub type Observation<'a> = (&'a Prediction, f64);

/// Returns the mean square of log(predicted time / measured time).
pub fn error(device: &Description, constants: &Constants, observations: &[Observation<'_>]) -> f64 {
    let squares = observations.iter().map(|(prediction, measured)| {
        let predicted = prediction.estimate_with(device, constants).us;
        (predicted / measured).ln().powi(2)
    });
    squares.sum::<f64>() / observations.len().max(1) as f64
}

/// A constant, as an accessor for its field in [`Constants`], with its range of meaningful values.
type Knob = (fn(&mut Constants) -> &mut f64, (f64, f64));

const KNOBS: [Knob; 5] = [
    (|constants| &mut constants.memory_share, (0.5, 1.0)),
    (|constants| &mut constants.issue_share, (0.3, 1.0)),
    (|constants| &mut constants.write_cost, (0.5, 4.0)),
    (|constants| &mut constants.start_cycles, (0.0, 5000.0)),
    (|constants| &mut constants.norm, (1.0, 16.0)),
];

/// Finds the constants with the smallest [`error`], starting from `start`. The search changes one constant at a time,
/// by a step that is halved when no change reduces the error.
pub fn fit(device: &Description, start: Constants, observations: &[Observation<'_>]) -> Constants {
    let mut best = start;
    let mut least = error(device, &best, observations);
    let mut step = 0.2;
    while step > 1e-4 {
        let mut improved = false;
        for (knob, (low, high)) in KNOBS {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut tried = best;
                let value = knob(&mut tried);
                *value = (*value * factor).clamp(low, high);
                let found = error(device, &tried, observations);
                if found < least {
                    (best, least, improved) = (tried, found, true);
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    best
}
