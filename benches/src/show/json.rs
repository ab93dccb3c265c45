//! The results as one JSON object.

use host::Options;
use serde::Serialize;

use super::Results;
use crate::contest::{Contest, Measured, Outcome, Spread};
use crate::contestant::Kind;
use crate::targets::{self, Ceiling, Ratio, Reached, geometric_mean};

#[derive(Serialize)]
struct Document<'a> {
    device: &'a str,
    toolchain: &'a str,
    nvcc: Option<&'a str>,
    baselines: Option<&'a str>,
    date: &'a str,
    command: &'a str,
    rounds: u32,
    cases: Vec<Case<'a>>,
    failed: Vec<Failed<'a>>,
    cuda_ports: Vec<Ratio>,
    cuda_ports_geometric_mean: Option<f64>,
    ceilings: Vec<Ceiling>,
    targets: Vec<Reached>,
}

#[derive(Serialize)]
struct Failed<'a> {
    what: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct Case<'a> {
    ladder: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    options: &'a Options,
    bytes: u64,
    flops: Option<u64>,
    regime: Option<&'a str>,
    missing: &'a [String],
    contestants: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<&'a str>,
    is_bound: bool,
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

impl<'a> Row<'a> {
    fn new(contest: &'a Contest, contestant: &'a Measured) -> Self {
        let spread = contestant.spread();
        let is_other = matches!(contestant.kind, Kind::Baseline | Kind::Read);
        let top = contest.top().filter(|_| is_other);
        let (wrong, left_out_after_ns) = match &contestant.outcome {
            Outcome::Timed(_) => (None, None),
            Outcome::Wrong(why) => (Some(why.as_str()), None),
            Outcome::LeftOut(tried) => (None, Some(*tried)),
        };
        Self {
            name: &contestant.name,
            kind: contestant.kind,
            rung: contestant.rung.map(|rung| rung.name),
            is_bound: contestant.is_bound,
            time_ns: spread,
            gb_per_s: contestant
                .bytes_per_s()
                .filter(|_| contest.flops.is_none())
                .map(|bytes| bytes / 1e9),
            tflop_per_s: contest
                .flops
                .zip(spread)
                .map(|(flops, spread)| flops as f64 / spread.median / 1e3),
            over_cuda_port: contest.over_port(contestant),
            top_over_it: top.and_then(|top| top.over(contestant)),
            wrong,
            left_out_after_ns,
        }
    }
}

/// One object: where and with what it was measured, the `cases` with all that took part, the
/// `cuda_ports`' ratios, the `ceilings` of the run and the `targets`.
///
/// Times are in nanoseconds and each is an object of `median`, `first_quartile` and `third_quartile`, as the
/// ratios are: `over_cuda_port` of a rung to its CUDA port, `top_over_it` of the fastest rung to a baseline. `time_ns` is
/// null for what was not timed, because it was `wrong` or was `left_out_after_ns` so long a launch.
pub fn json(results: &Results) -> String {
    let circumstances = &results.circumstances;
    let ratios = targets::ratios(&results.contests);
    let document = Document {
        device: &circumstances.device,
        toolchain: &circumstances.provenance.toolchain,
        nvcc: circumstances.nvcc.as_deref(),
        baselines: circumstances.baselines.as_deref(),
        date: &circumstances.provenance.date,
        command: &circumstances.command,
        rounds: circumstances.runs,
        cases: results.contests.iter().map(Case::new).collect(),
        failed: results
            .failed
            .iter()
            .map(|(what, why)| Failed { what, why })
            .collect(),
        cuda_ports_geometric_mean: geometric_mean(ratios.iter().map(|ratio| ratio.ratio)),
        cuda_ports: ratios,
        ceilings: targets::ceilings(&results.contests),
        targets: targets::reached(&results.contests),
    };
    serde_json::to_string_pretty(&document).expect("strings, numbers and arrays serialize")
}

impl<'a> Case<'a> {
    fn new(contest: &'a Contest) -> Self {
        Self {
            ladder: contest.ladder.name,
            label: contest.label,
            options: &contest.options,
            bytes: contest.bytes,
            flops: contest.flops,
            regime: contest.regime.as_deref(),
            missing: &contest.missing,
            contestants: contest
                .contestants
                .iter()
                .map(|contestant| Row::new(contest, contestant))
                .collect(),
        }
    }
}
