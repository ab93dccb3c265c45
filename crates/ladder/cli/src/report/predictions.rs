//! The times that the model predicts for rungs that ran on the simulator.

use std::collections::BTreeMap;

use analysis::occupancy;
use analysis::predict::sampler::FEW_INSTRUCTIONS;
use analysis::predict::{self, Description};
use engine::Kernels;
use engine::run::Report;
use profile::model::Constants;

/// The predicted times of a report's rungs on a device.
pub struct Predictions {
    /// The name of the device.
    pub(super) device: String,
    /// The time of each outcome in nanoseconds; `None` for a launch that is not predicted.
    pub(super) times_ns: Vec<Option<f64>>,
    /// The reasons why times are missing or less exact.
    pub(super) notes: Vec<String>,
}

impl Predictions {
    /// Predicts the times of the rungs that have correct results, from small samples of their blocks.
    pub fn new(report: &Report, kernels: &'static Kernels, device: &Description) -> Self {
        let mut notes = Vec::new();
        let right = report.outcomes.iter().filter(|outcome| outcome.verdict.is_right());
        let (waiting, sampled): (Vec<_>, Vec<_>) = right.partition(|outcome| outcome.rung.blocks_wait);
        let mut predictions = Vec::new();
        let mut failed: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let launches: Vec<_> = sampled.iter().map(|outcome| (outcome.rung, outcome.launch.clone())).collect();
        let predicted = report.ladder.problem(&report.options).map_err(analysis::Error::from).and_then(|problem| {
            predict::each_launch(kernels, device, &Constants::CALIBRATED, &*problem, &launches, FEW_INSTRUCTIONS)
        });
        match predicted {
            Ok(each) => {
                for ((rung, _), prediction) in launches.iter().zip(each) {
                    match prediction {
                        Ok(prediction) => predictions.push(prediction),
                        Err(error) => failed.entry(error.to_string()).or_default().push(rung.name),
                    }
                }
            }
            Err(error) => notes.push(format!("times are not predicted: {error}")),
        }
        notes.extend(failed.iter().map(|(error, rungs)| format!("not predicted: {}: {error}", rungs.join(", "))));
        if let Some(outcome) = sampled.first()
            && let Err(error) = occupancy::usage(kernels, &outcome.launch, &device.arch)
        {
            notes.push(format!("times are predicted as if registers did not limit occupancy: {error}"));
        }
        if let [first, ..] = waiting[..] {
            let rungs: Vec<&str> = waiting.iter().map(|outcome| outcome.rung.name).collect();
            let rungs = rungs.join(", ");
            notes.push(format!("not predicted from a sample of blocks, because blocks wait for other blocks: {rungs}"));
            notes.push(format!("`ladder why {}` predicts the time, but takes longer", first.rung.name));
        }
        let times = report.outcomes.iter().map(|outcome| {
            let prediction = predictions.iter().find(|other| other.rung.name == outcome.rung.name)?;
            Some(prediction.estimate.us * 1e3)
        });
        Self { device: device.name.clone(), times_ns: times.collect(), notes }
    }

    /// Returns the predicted speedup of the outcome at `index` over the outcome at `base`.
    pub(super) fn speedup(&self, base: usize, index: usize) -> Option<f64> {
        let [base, time] = [base, index].map(|index| self.times_ns.get(index).copied().flatten());
        Some(base? / time?)
    }
}
