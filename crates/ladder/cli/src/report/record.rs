//! The JSON output of a run: one object per rung.

use std::collections::BTreeMap;

use serde::Serialize;

use engine::device::{Finding, Value};
use engine::options::Options;
use engine::problem::{Picture, Verdict};
use engine::run::{Report, RungResult};

use super::Predictions;
use crate::output::Document;

#[derive(Serialize)]
struct RungRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    problem: &'a str,
    device: &'a str,
    device_name: &'a str,
    #[serde(flatten)]
    options: &'a Options,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    correct: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<&'a str>,
    time_ns: Option<f64>,
    bytes: u64,
    gb_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gflop_per_s: Option<f64>,
    speedup_vs_first: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_for: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a Picture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<BTreeMap<&'static str, Counter>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<&'a [Finding]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// The last record of a run that stopped early.
#[derive(Serialize)]
struct Incomplete<'a> {
    ladder: &'a str,
    incomplete: &'a str,
    not_run: &'a [&'a str],
}

#[derive(Serialize)]
#[serde(untagged)]
enum Counter {
    Count(u64),
    Ratio(Option<f64>),
}

/// Returns the counters by name, if the device counted the launch.
fn counters(outcome: &RungResult) -> Option<BTreeMap<&'static str, Counter>> {
    let named = outcome.counters.iter().map(|metric| match metric.value {
        Value::Count(count) => (metric.name, Counter::Count(count)),
        Value::Ratio(ratio) => (metric.name, Counter::Ratio(ratio)),
    });
    let named: BTreeMap<_, _> = named.collect();
    (!named.is_empty()).then_some(named)
}

/// Adds one object for each rung that ran.
///
/// Each option of the ladder is a field: `n`, `rows`, `type`. `shared_bytes` is the dynamic shared memory of the
/// launch, `time_ns` the median in nanoseconds and `gb_per_s` the effective bandwidth in 10^9 bytes per second.
/// `time_ns` and `gb_per_s` are `null` if nothing was timed. `speedup_vs_first` is also `null` if the ladder's first
/// rung did not run. In a counted run, `predicted_ns` is the time that the model predicts for the device
/// `predicted_for`. If the device counted the launch, `counters` is an object with each of the device's
/// [`Metric`](engine::device::Metric)s; a ratio whose divisor is zero is `null`.
///
/// Other fields are present only in some runs: `gflop_per_s` if the ladder is measured in operations per second;
/// `picture` with the values before and after the launch if the ladder has a picture; `findings` if kernels were
/// checked; `notes` on the checks; and `wrong` with the reason if `correct` is false. If a run stopped early, its last
/// object gives the reason in `incomplete` and lists the remaining rungs in `not_run`.
pub(super) fn add(document: &mut Document, report: &Report, predictions: Option<&Predictions>) {
    for (index, outcome) in report.outcomes.iter().enumerate() {
        let predicted_ns = predictions.and_then(|predictions| predictions.times_ns[index]);
        document.record(&RungRecord {
            ladder: report.ladder.name,
            rung: outcome.rung.name,
            problem: &report.title,
            device: report.device.kind,
            device_name: &report.device.name,
            options: &report.options,
            grid: outcome.launch.grid,
            block: outcome.launch.block,
            shared_bytes: outcome.launch.shared_bytes,
            correct: outcome.verdict.is_right(),
            wrong: match &outcome.verdict {
                Verdict::Right => None,
                Verdict::Wrong(why) => Some(why),
            },
            time_ns: outcome.median_ns(),
            bytes: report.bytes,
            gb_per_s: report.bytes_per_s(outcome).map(|bytes| bytes / 1e9),
            gflop_per_s: report.flops_per_s(outcome).map(|flops| flops / 1e9),
            speedup_vs_first: report.speedup_vs_first(outcome),
            predicted_ns,
            predicted_for: predictions.filter(|_| predicted_ns.is_some()).map(|predictions| &*predictions.device),
            picture: outcome.picture.as_ref(),
            counters: counters(outcome),
            findings: (!report.checks.is_empty() || outcome.has_failed).then_some(&outcome.findings),
            notes: &outcome.notes,
        });
    }
    if !report.not_run.is_empty() {
        let (ladder, incomplete) = (report.ladder.name, super::incomplete());
        document.record(&Incomplete { ladder, incomplete, not_run: &report.not_run });
    }
}
