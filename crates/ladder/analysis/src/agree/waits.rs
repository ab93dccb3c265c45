//! Kernels that wait for other blocks, whose counts change from run to run.

use super::class::Class;
use super::metrics::{ComparedMetric, METRICS, Rule, find};
use super::record::ComparedRung;
use super::{Explain, rounded};
use crate::Error;
use engine::launch::Launch;
use engine::registry::Rung;
use profile::counters::Numbers;

/// The number of times that a waiting kernel is counted again.
const REMEASUREMENTS: usize = 4;

/// A rung and its launch.
type RungLaunch = (&'static Rung, Launch);

/// Recounts the rungs that wait for other blocks and have unexplained differences. Marks the differences that
/// change from run to run on the GPU. `on_gpu` holds the numbers of the first run, and `count` counts launches once
/// more.
///
/// # Errors
/// Returns an error when `count` fails.
pub(super) fn remeasure(
    rungs: &mut [ComparedRung],
    launches: &[RungLaunch],
    on_gpu: &[Numbers],
    explain: &dyn Explain,
    count: impl Fn(&[RungLaunch]) -> Result<Vec<Numbers>, Error>,
) -> Result<(), Error> {
    let is_open = |row: &ComparedRung| {
        let mut all = row.metrics.values();
        all.any(|both| both.class == Class::Unexplained)
    };
    let again: Vec<usize> =
        (0..rungs.len()).filter(|&at| is_open(&rungs[at]) && explain.waits(&launches[at].1.entry)).collect();
    if again.is_empty() {
        return Ok(());
    }
    let launches: Vec<_> = again.iter().map(|&at| launches[at].clone()).collect();
    let mut runs = vec![again.iter().map(|&at| on_gpu[at].clone()).collect()];
    for _ in 0..REMEASUREMENTS {
        runs.push(count(&launches)?);
    }
    for (place, &at) in again.iter().enumerate() {
        let numbers: Vec<&Numbers> = runs.iter().map(|run| &run[place]).collect();
        mark(&mut rungs[at], &numbers);
    }
    Ok(())
}

/// Marks the unexplained differences of a rung whose numbers change between these runs on the GPU. Also marks a
/// difference if another metric of the same instructions changes, because a share with two decimal places hides small
/// changes in its counters.
///
/// Wavefronts that include arbitration change from run to run in every kernel, so their changes are not evidence.
fn mark(row: &mut ComparedRung, runs: &[&Numbers]) {
    let is_steady = |metric: &&ComparedMetric| metric.rule != Rule::Arbitrated;
    let seen = |metric: &ComparedMetric| {
        let numbers = runs.iter().filter_map(|run| metric.gpu.of(&metric.name, run));
        let numbers: Vec<f64> = numbers.map(rounded).collect();
        let least = numbers.iter().copied().reduce(f64::min)?;
        Some((least, numbers.into_iter().fold(least, f64::max)))
    };
    let varies = |metric: &&ComparedMetric| seen(metric).is_some_and(|(least, most)| least < most);
    let metrics = METRICS.iter().filter(is_steady);
    let varying: Vec<&ComparedMetric> = metrics.filter(varies).collect();
    for (name, comparison) in &mut row.metrics {
        if comparison.class != Class::Unexplained {
            continue;
        }
        let Some(metric) = find(name).filter(is_steady) else {
            continue;
        };
        let count = runs.len();
        let why = match seen(metric) {
            Some((least, most)) if least < most => {
                format!("{count} runs on the GPU count {least} to {most}")
            }
            _ => match varying.iter().find(|other| other.kinds == metric.kinds) {
                Some(other) => format!("{count} runs on the GPU differ in {}", other.heading),
                None => continue,
            },
        };
        comparison.class = Class::Waits;
        comparison.why = vec![format!("the kernel waits for other blocks, and {why}")];
    }
}
