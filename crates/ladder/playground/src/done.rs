//! The report of a run for the page.

use serde::Serialize;
use simt::LaunchError;
use simt::counters::{Counters, Metric, Value};

use crate::listing::Listing;
use crate::request::Argument;
use crate::run::{BufferView, Problem, Run};
use crate::trace::Trace;

/// The report of a run for the page.
#[derive(Serialize)]
pub(crate) struct RunReport<'a> {
    title: &'a str,
    launch: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    arguments: &'a [Argument],
    /// The index of the recorded block in the grid.
    recorded: Option<u64>,
    steps: usize,
    /// The step that the page initially shows.
    first: usize,
    /// Whether the recording ended before the block ended.
    cut: bool,
    warps: usize,
    threads: u32,
    shared_bytes: u64,
    right: Option<bool>,
    /// The reason why the result is wrong.
    wrong: Option<&'a str>,
    fault: Option<Problem>,
    counters: Vec<Counted>,
    buffers: &'a [BufferView],
    printed: &'a str,
    listing: &'a Listing,
}

/// A counter.
#[derive(Serialize)]
struct Counted {
    name: &'static str,
    unit: &'static str,
    text: &'static str,
    value: Option<f64>,
}

impl<'a> RunReport<'a> {
    pub(crate) fn of(run: &'a Run, listing: &'a Listing) -> Self {
        let trace = run.trace.as_ref();
        let metrics = run.counters.as_ref().map_or_else(Vec::new, Counters::metrics);
        Self {
            title: &run.title,
            launch: &run.launch,
            grid: run.grid,
            block: run.block,
            dynamic_shared: run.dynamic_shared,
            arguments: &run.arguments,
            recorded: trace.map(|trace| trace.block),
            steps: trace.map_or(0, |trace| trace.steps.len()),
            first: trace.map_or(0, |trace| listing.first_shown_step(trace)),
            cut: trace.is_some_and(|trace| trace.is_cut),
            warps: trace.map_or(0, |trace| trace.warps.len()),
            threads: trace.map_or(0, |trace| trace.threads),
            shared_bytes: trace.map_or(0, Trace::shared_bytes),
            right: run.verdict.as_ref().map(Result::is_ok),
            wrong: run.verdict.as_ref().and_then(|verdict| verdict.as_ref().err()).map(String::as_str),
            fault: run.error.as_ref().map(|error| Problem {
                line: match error {
                    LaunchError::Fault(fault) => Some(fault.ptx_line),
                    _ => None,
                },
                column: None,
                text: error.to_string(),
            }),
            counters: metrics.iter().map(Counted::of).collect(),
            buffers: &run.buffers,
            printed: &run.printed,
            listing,
        }
    }
}

impl Counted {
    fn of(metric: &Metric) -> Self {
        Self { name: metric.name, unit: metric.unit, text: metric.text, value: Value::number(metric.value) }
    }
}
