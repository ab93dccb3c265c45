//! Writes the results as one JSON object.

use serde::Serialize;

use super::{FailedCase, MeasurementContext, Results};
use crate::contest::{Contest, ContestantResult, MeasuredContestant, Spread};
use crate::contestant::Contestant;
use crate::targets::{self, Ceiling, Ratio, TargetResult, geometric_mean};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    circumstances: &'a MeasurementContext,
    cases: Vec<Case<'a>>,
    failed: &'a [FailedCase],
    cuda_ports: Vec<Ratio>,
    cuda_ports_geometric_mean: Option<f64>,
    ceilings: Vec<Ceiling>,
    targets: Vec<TargetResult>,
}

#[derive(Serialize)]
struct Case<'a> {
    #[serde(flatten)]
    contest: &'a Contest,
    contestants: Vec<ContestantRecord<'a>>,
}

#[derive(Serialize)]
struct ContestantRecord<'a> {
    #[serde(flatten)]
    contestant: &'a Contestant,
    time_ns: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gb_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tflop_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_cuda_port: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_over_it: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_after_ns: Option<f64>,
}

impl<'a> ContestantRecord<'a> {
    fn new(contest: &'a Contest, measured: &'a MeasuredContestant) -> Self {
        let top = contest.top().filter(|_| measured.is_other());
        let (wrong, left_out_after_ns) = match &measured.outcome {
            ContestantResult::Timed(_) => (None, None),
            ContestantResult::Wrong(why) => (Some(why.as_str()), None),
            ContestantResult::LeftOut(tried) => (None, Some(*tried)),
        };
        Self {
            contestant: &measured.contestant,
            time_ns: measured.spread(),
            gb_per_s: measured.bytes_per_s().filter(|_| contest.flops.is_none()).map(|bytes| bytes / 1e9),
            tflop_per_s: contest.flops_per_s(measured).map(|flops| flops / 1e12),
            over_cuda_port: contest.over_port(measured),
            top_over_it: top.and_then(|top| top.over(measured)),
            wrong,
            left_out_after_ns,
        }
    }
}

/// Returns one object: the circumstances of the measurement, the `cases` with all contestants, the ratios of the
/// `cuda_ports`, the `ceilings` of the run and the `targets`.
///
/// Times are in nanoseconds. Each time and each ratio is an object of `median`, `first_quartile` and `third_quartile`.
/// `over_cuda_port` is the ratio of a rung to its CUDA port, and `top_over_it` is the ratio of the fastest rung to a
/// baseline. `time_ns` is null if the contestant was not timed, because it was `wrong` or because its launch took
/// `left_out_after_ns`.
pub fn json(results: &Results) -> String {
    let ratios = targets::ratios(&results.contests);
    let case = |contest| Case {
        contest,
        contestants: contest.contestants.iter().map(|measured| ContestantRecord::new(contest, measured)).collect(),
    };
    let document = Document {
        circumstances: &results.circumstances,
        cases: results.contests.iter().map(case).collect(),
        failed: &results.failed,
        cuda_ports_geometric_mean: geometric_mean(ratios.iter().map(|ratio| ratio.ratio)),
        cuda_ports: ratios,
        ceilings: targets::ceilings(&results.contests),
        targets: targets::reached(&results.contests),
    };
    serde_json::to_string_pretty(&document).expect("strings, numbers and arrays serialize")
}
