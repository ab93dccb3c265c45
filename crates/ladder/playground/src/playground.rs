//! The playground, which answers requests and keeps the last run.

use serde::Serialize;

use crate::done::RunReport;
use crate::listing::Listing;
use crate::request::{Pasted, Request, RungRun};
use crate::run::{Checked, Problem, Run};
use crate::{pasted, rungs, view};

/// The request of the last run.
#[derive(Clone)]
enum RunSource {
    Rung(RungRun),
    Pasted(Pasted),
}

/// A playground, with the last run and its states.
#[derive(Default)]
pub struct Playground {
    last: Option<(RunSource, Run)>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ok(serde_json::Value),
    Problem(Problem),
}

impl Playground {
    /// Answers a request in JSON. Returns `{"ok": …}`, or `{"problem": {"text": …, "line": …}}` if the request fails.
    pub fn answer(&mut self, request: &str) -> String {
        let request = serde_json::from_str(request).map_err(|error| Problem::new(format!("invalid request: {error}")));
        let answer = match request.and_then(|request| self.handle(request)) {
            Ok(value) => Answer::Ok(value),
            Err(problem) => Answer::Problem(problem),
        };
        serde_json::to_string(&answer).unwrap_or_else(|error| {
            // Text can always be converted to JSON.
            format!("{{\"problem\":{}}}", serde_json::json!({ "text": error.to_string() }))
        })
    }

    fn handle(&mut self, request: Request) -> Result<serde_json::Value, Problem> {
        match request {
            Request::Catalog => json(&rungs::catalog()),
            Request::Kernels { ptx } => json(&pasted::kernels(&ptx)?),
            Request::Rung(request) => {
                // Free the memory of the last run, because the new run needs it.
                self.last = None;
                let run = rungs::run(&request)?;
                self.keep(RunSource::Rung(request), run)
            }
            Request::Pasted(request) => {
                self.last = None;
                let run = pasted::run(&request)?;
                self.keep(RunSource::Pasted(request), run)
            }
            Request::Check => {
                let (source, _) = self.last()?;
                let checked: Checked = match source {
                    RunSource::Rung(request) => rungs::check(request)?,
                    RunSource::Pasted(request) => pasted::check(request)?,
                };
                json(&checked)
            }
            Request::View { step, warp } => json(&view::view(&self.last()?.1, step, warp)?),
            Request::Go { step, warp, back, to } => {
                let run = &self.last()?.1;
                json(&run.trace.as_ref().and_then(|trace| trace.find(&run.function, step, warp, back, to)))
            }
        }
    }

    fn keep(&mut self, source: RunSource, run: Run) -> Result<serde_json::Value, Problem> {
        let done = json(&RunReport::of(&run, &Listing::of(&run)));
        self.last = Some((source, run));
        done
    }

    fn last(&self) -> Result<&(RunSource, Run), Problem> {
        self.last.as_ref().ok_or_else(|| Problem::new("no kernel has run yet"))
    }

    /// Appends the words of the block's shared memory after a step.
    pub fn shared(&self, step: u32, words: &mut Vec<u32>) {
        if let Some(trace) = self.last.as_ref().and_then(|(_, run)| run.trace.as_ref()) {
            words.extend(trace.shared_at(step));
        }
    }

    /// Returns the activity of the block's warps over the steps. Each warp has `columns` columns. A column contains the
    /// mean number of active lanes over the warp's steps in that column, or 0 if the warp has no step there.
    pub fn overview(&self, columns: usize) -> Vec<u32> {
        let trace = self.last.as_ref().and_then(|(_, run)| run.trace.as_ref());
        trace.map_or_else(Vec::new, |trace| trace.overview(columns))
    }
}

fn json(value: &impl Serialize) -> Result<serde_json::Value, Problem> {
    serde_json::to_value(value).map_err(|error| Problem::new(error.to_string()))
}
