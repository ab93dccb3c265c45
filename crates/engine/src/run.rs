//! Climbing a ladder: upload once, then check and time each rung.

use std::fmt;

use crate::device::{Device, DeviceInfo, Metric};
use crate::error::Error;
use crate::launch::Launch;
use crate::options::Options;
use crate::problem::{Picture, Problem, Verdict};
use crate::registry::{Ladder, Rung};
use crate::stats::Samples;

pub use crate::session::{CheckedLaunch, Session, WARM_UP};

/// What one rung did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rung.
    pub rung: &'static Rung,
    /// How it was launched.
    pub launch: Launch,
    /// Whether its result was right.
    pub verdict: Verdict,
    /// What there is to see of it besides numbers.
    pub picture: Option<Picture>,
    /// Its times, where it was timed.
    pub samples: Option<Samples>,
    /// What was counted of it, where the device counts.
    pub counters: Vec<Metric>,
}

impl Outcome {
    /// A counter's value: `None` where it was not counted or has nothing to divide by.
    pub fn counter(&self, name: &str) -> Option<f64> {
        let metric = self.counters.iter().find(|metric| metric.name == name)?;
        metric.value.number()
    }
}

/// What a run of a ladder gave.
#[derive(Clone, Debug)]
pub struct Report {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// Where it ran.
    pub device: DeviceInfo,
    /// The problem's options, complete.
    pub options: Options,
    /// The problem in words.
    pub title: String,
    /// The bytes that effective bandwidth is reckoned from.
    pub bytes: u64,
    /// The floating-point operations, where the ladder is measured by them.
    pub flops: Option<u64>,
    /// How many launches of each rung were timed; `None` for none, as on a device without a clock.
    pub runs: Option<u32>,
    /// How many sets of buffers the launches took in turn, to find their data outside the L2.
    pub sets: usize,
    /// The rungs that ran, in the ladder's order.
    pub outcomes: Vec<Outcome>,
    /// Why others did not: what the device lacks for them.
    pub left_out: Vec<String>,
}

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct RunRequest<'a> {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rungs by name; all that compute the problem where there is none.
    pub rungs: &'a [String],
    /// What the problem is made from.
    pub options: &'a Options,
    /// The block for all of them, or each one's default.
    pub block: Option<[u32; 3]>,
    /// How many launches of each rung to time; `None` checks only.
    pub runs: Option<u32>,
}

/// A run that was found possible, before a device is opened for it.
pub struct Plan {
    ladder: &'static Ladder,
    options: Options,
    problem: Box<dyn Problem>,
    launches: Vec<(&'static Rung, Launch)>,
    runs: Option<u32>,
    /// Whether the rungs were asked for by name.
    named: bool,
    /// Why rungs are not climbed that were not asked for by name.
    left_out: Vec<String>,
}

impl Plan {
    /// The rungs that will be climbed, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        self.launches.iter().map(|(rung, _)| *rung).collect()
    }

    /// Those rungs, and how each is launched.
    pub fn launches(&self) -> &[(&'static Rung, Launch)] {
        &self.launches
    }

    /// Why rungs are left out that were not asked for by name.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The problem that they compute.
    pub fn problem(&self) -> &dyn Problem {
        &*self.problem
    }

    /// Leaves out the launches for which `check` gives an error, and keeps the error's text as the reason.
    ///
    /// # Errors
    /// The first of those errors, when the rungs were asked for by name.
    pub fn leave_out<E: fmt::Display>(
        &mut self,
        mut check: impl FnMut(&Rung, &Launch) -> Option<E>,
    ) -> Result<(), E> {
        let mut kept = Vec::with_capacity(self.launches.len());
        for (rung, launch) in self.launches.drain(..) {
            match check(rung, &launch) {
                None => kept.push((rung, launch)),
                Some(error) if self.named => return Err(error),
                Some(error) => self.left_out.push(error.to_string()),
            }
        }
        self.launches = kept;
        Ok(())
    }
}

impl RunRequest<'_> {
    /// Makes the problem and finds the rungs and their launches. Rungs that were not named and were not
    /// compiled for the block are left out, unless that leaves none.
    ///
    /// # Errors
    /// Options that the ladder does not take, names that are no rungs, a block that a rung cannot be launched
    /// with.
    pub fn plan(&self) -> Result<Plan, Error> {
        let Self {
            ladder,
            rungs,
            options,
            block,
            runs,
        } = *self;
        let problem = ladder.problem(options)?;
        let (mut launches, mut not_compiled) = (Vec::new(), Vec::new());
        for rung in ladder.select(rungs, &*problem)? {
            match ladder.launch(rung, &*problem, block) {
                Ok(launch) => launches.push((rung, launch)),
                Err(error @ Error::NotCompiled { .. }) if rungs.is_empty() => {
                    not_compiled.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        let left_out = not_compiled.iter().map(ToString::to_string).collect();
        if launches.is_empty()
            && let Some(error) = not_compiled.into_iter().next()
        {
            return Err(error);
        }
        Ok(Plan {
            ladder,
            options: problem.resolved_options(ladder.complete(options)?),
            problem,
            launches,
            named: !rungs.is_empty(),
            left_out,
            runs,
        })
    }
}

/// Checks each rung of `plan` and, when it asks for runs, times it. `progress` is called with each rung before it runs.
/// Rungs that the device is too old for are left out of the plan.
///
/// # Errors
/// Before anything runs, when the device is too old for a rung that was named or when the problem does not fit into
/// its memory; and when the device fails. A wrong result is not an error: the report has it.
pub fn run(
    device: &mut dyn Device,
    mut plan: Plan,
    mut progress: impl FnMut(&Rung),
) -> Result<Report, Error> {
    plan.leave_out(|_, launch| device.check_supported(launch))?;
    let Plan {
        ladder,
        problem,
        launches,
        runs,
        left_out,
        options,
        ..
    } = plan;
    let info = device.info().clone();
    device.set_counting(runs.is_some());
    let mut session = if runs.is_some() {
        Session::timed(device, &*problem)?
    } else {
        let restorable = launches.iter().any(|(rung, _)| rung.in_place);
        Session::new(device, &*problem, restorable)?
    };
    let sets = session.sets();
    let mut timed = false;
    let mut outcomes = Vec::with_capacity(launches.len());
    for (rung, launch) in launches {
        progress(rung);
        let tried = session.launch_checked(rung, &launch)?;
        let samples = match runs {
            // A device without a clock has said all that it can.
            Some(runs) if tried.ran.time_ns.is_some() => session.time(rung, &launch, runs)?,
            _ => None,
        };
        timed |= samples.is_some();
        outcomes.push(Outcome {
            rung,
            launch,
            verdict: tried.verdict,
            picture: tried.picture,
            samples,
            counters: tried.ran.counters,
        });
    }
    Ok(Report {
        ladder,
        device: info,
        options,
        title: problem.title(),
        bytes: problem.bytes(),
        flops: problem.flops(),
        runs: runs.filter(|_| timed),
        sets,
        outcomes,
        left_out,
    })
}

impl Report {
    /// Whether every rung was right.
    pub fn all_right(&self) -> bool {
        self.outcomes
            .iter()
            .all(|outcome| outcome.verdict.is_right())
    }

    /// Whether the rungs were counted.
    pub fn counted(&self) -> bool {
        self.outcomes
            .iter()
            .any(|outcome| !outcome.counters.is_empty())
    }

    /// How many times faster `outcome` was than the rung of this name, where both were timed.
    pub fn speedup_over(&self, outcome: &Outcome, name: &str) -> Option<f64> {
        let base = self.outcomes.iter().find(|other| other.rung.name == name)?;
        speedup(base, outcome)
    }

    /// How many times faster it was than the ladder's first rung, where both were timed.
    pub fn speedup_vs_first(&self, outcome: &Outcome) -> Option<f64> {
        self.speedup_over(outcome, self.ladder.rungs.first()?.name)
    }

    /// How many times faster the rung at `index` was than the one that ran before it.
    pub fn speedup_vs_before(&self, index: usize) -> Option<f64> {
        let before = self.outcomes.get(index.checked_sub(1)?)?;
        speedup(before, self.outcomes.get(index)?)
    }

    /// Its effective bandwidth in bytes a second, where it was timed.
    pub fn bytes_per_s(&self, outcome: &Outcome) -> Option<f64> {
        per_second(self.bytes, outcome)
    }

    /// Its floating-point operations a second, where it was timed and is measured by them.
    pub fn flops_per_s(&self, outcome: &Outcome) -> Option<f64> {
        per_second(self.flops?, outcome)
    }
}

fn per_second(amount: u64, outcome: &Outcome) -> Option<f64> {
    let median = outcome.samples.as_ref()?.median();
    (median > 0.0).then(|| amount as f64 / (median * 1e-9))
}

fn speedup(base: &Outcome, outcome: &Outcome) -> Option<f64> {
    let (base, own) = (
        base.samples.as_ref()?.median(),
        outcome.samples.as_ref()?.median(),
    );
    (own > 0.0).then(|| base / own)
}
