//! A playground: answers requests, and keeps the last run.

use serde::Serialize;

use crate::done::RunReport;
use crate::listing::Listing;
use crate::request::{Pasted, Request, RungRun};
use crate::run::{Checked, Problem, Run};
use crate::{pasted, rungs, view};

/// What was run last.
#[derive(Clone)]
enum RunSource {
    Rung(RungRun),
    Pasted(Pasted),
}

/// A playground: what was run last, to be looked at.
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
    /// Answers a request: `{"ok": …}`, or `{"problem": {"text": …, "line": …}}` where it cannot be done. Both are JSON.
    pub fn answer(&mut self, request: &str) -> String {
        let request = serde_json::from_str(request).map_err(|error| Problem::new(format!("the request: {error}")));
        let answer = match request.and_then(|request| self.done(request)) {
            Ok(value) => Answer::Ok(value),
            Err(problem) => Answer::Problem(problem),
        };
        serde_json::to_string(&answer).unwrap_or_else(|error| {
            // A text is always JSON.
            format!("{{\"problem\":{}}}", serde_json::json!({ "text": error.to_string() }))
        })
    }

    fn done(&mut self, request: Request) -> Result<serde_json::Value, Problem> {
        match request {
            Request::Catalog => json(&rungs::catalog()),
            Request::Kernels { ptx } => json(&pasted::kernels(&ptx)?),
            Request::Rung(asked) => {
                // The memory of the last run is needed for this one.
                self.last = None;
                let run = rungs::run(&asked)?;
                self.keep(RunSource::Rung(asked), run)
            }
            Request::Pasted(asked) => {
                self.last = None;
                let run = pasted::run(&asked)?;
                self.keep(RunSource::Pasted(asked), run)
            }
            Request::Check => {
                let (ran, _) = self.last()?;
                let checked: Checked = match ran {
                    RunSource::Rung(asked) => rungs::check(asked)?,
                    RunSource::Pasted(asked) => pasted::check(asked)?,
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

    fn keep(&mut self, ran: RunSource, run: Run) -> Result<serde_json::Value, Problem> {
        let done = json(&RunReport::of(&run, &Listing::of(&run)));
        self.last = Some((ran, run));
        done
    }

    fn last(&self) -> Result<&(RunSource, Run), Problem> {
        self.last.as_ref().ok_or_else(|| Problem::new("nothing was run yet"))
    }

    /// Appends the words of the block's shared memory after a step.
    pub fn shared(&self, step: u32, words: &mut Vec<u32>) {
        if let Some(trace) = self.last.as_ref().and_then(|(_, run)| run.trace.as_ref()) {
            words.extend(trace.shared_at(step));
        }
    }

    /// The activity of the block's warps over the steps: of each warp, so many columns, each with the mean number of
    /// lanes of its steps there, and 0 where it has none.
    pub fn overview(&self, columns: usize) -> Vec<u32> {
        let trace = self.last.as_ref().and_then(|(_, run)| run.trace.as_ref());
        trace.map_or_else(Vec::new, |trace| trace.overview(columns))
    }
}

fn json(value: &impl Serialize) -> Result<serde_json::Value, Problem> {
    serde_json::to_value(value).map_err(|error| Problem::new(error.to_string()))
}
