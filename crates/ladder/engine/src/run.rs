//! Runs a ladder: the problem is uploaded once, then each rung is checked and timed.

use std::fmt;

use simt::run::is_interrupted;

use crate::device::{Checks, Device, DeviceInfo, Finding, Metric};
use crate::error::Error;
use crate::launch::Launch;
use crate::options::Options;
use crate::problem::{Facts, Picture, Problem, Verdict};
use crate::registry::{DeviceProperties, Ladder, Launches, Rung};
use crate::stats::Samples;

pub use crate::session::{Session, Step, WARM_UP};

/// The results of one rung.
#[derive(Clone, Debug)]
pub struct RungResult {
    /// The rung.
    pub rung: &'static Rung,
    /// The launch of the rung.
    pub launch: Launch,
    /// Whether the result is right.
    pub verdict: Verdict,
    /// Whether the launch failed. The verdict then contains the device's error message.
    pub has_failed: bool,
    /// A picture of the launch's values, if the ladder shows pictures.
    pub picture: Option<Picture>,
    /// The times of the launches, if the rung was timed.
    pub samples: Option<Samples>,
    /// The counters of the launch, if the device counted the launch.
    pub counters: Vec<Metric>,
    /// The findings of the device's sanitizers. If the launch failed on a GPU, the findings of a rerun on the
    /// simulator.
    pub findings: Vec<Finding>,
    /// Further notes on the checks, one sentence each.
    pub notes: Vec<String>,
}

impl RungResult {
    /// Returns the value of a counter, or `None` if it was not counted or is a quotient with a zero divisor.
    pub fn counter(&self, name: &str) -> Option<f64> {
        let metric = self.counters.iter().find(|metric| metric.name == name)?;
        metric.value.number()
    }

    /// Returns the median time in nanoseconds, if the rung was timed.
    pub fn median_ns(&self) -> Option<f64> {
        Some(self.samples.as_ref()?.median())
    }
}

/// The results of a run of a ladder.
#[derive(Clone, Debug)]
pub struct Report {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The device that the ladder ran on.
    pub device: DeviceInfo,
    /// The complete options of the problem.
    pub options: Options,
    /// The problem in words.
    pub title: String,
    /// The number of bytes from which effective bandwidth is computed.
    pub bytes: u64,
    /// The number of floating-point operations, if the ladder is measured in operations per second.
    pub flops: Option<u64>,
    /// The number of timed launches of each rung. `None` when no rung was timed, for example on a device without a
    /// clock.
    pub runs: Option<u32>,
    /// The number of buffer sets that the launches rotate through, so that their data are not in the L2 cache.
    pub sets: usize,
    /// The sanitizers that the launches ran with, in addition to the check of results.
    pub checks: Checks,
    /// The results of the rungs that ran, in the ladder's order.
    pub outcomes: Vec<RungResult>,
    /// The reasons why other rungs did not run.
    pub left_out: Vec<String>,
    /// The rungs that were planned but did not run, because the user interrupted the run or the device became unusable.
    pub not_run: Vec<&'static str>,
}

/// Runs launches one after another by calling `attempt`. Stops early when the user interrupts the program or the device
/// becomes unusable. A failed launch is not an error; its result counts as wrong.
pub fn steps<'a>(
    mut session: Session<'a>,
    launches: &'a [(&'static Rung, Launch)],
    mut attempt: impl FnMut(&mut Session<'a>, &'static Rung, &Launch) -> Result<Step, Error> + 'a,
) -> impl Iterator<Item = Result<Step, Error>> + 'a {
    let mut is_usable = true;
    launches.iter().map_while(move |(rung, launch)| {
        if !is_usable || is_interrupted() {
            return None;
        }
        let mut step = match attempt(&mut session, rung, launch) {
            Err(Error::Interrupted) => return None,
            Err(error) => return Some(Err(error)),
            Ok(step) => step,
        };
        (step.findings, step.notes, step.sets) = (session.take_findings(), session.take_notes(), session.sets());
        is_usable = session.is_usable_after(step.has_failed);
        Some(Ok(Step { is_usable, ..step }))
    })
}

/// A request that was validated before a device is opened for it.
pub struct Plan {
    ladder: &'static Ladder,
    options: Options,
    problem: Box<dyn Problem>,
    /// The properties of the device that the launches are for.
    device: DeviceProperties,
    launches: Launches,
    runs: Option<u32>,
    /// Whether the rungs were requested by name.
    named: bool,
    /// The reasons why unnamed rungs are left out.
    left_out: Vec<String>,
}

impl Plan {
    /// Creates the problem with these options and the launches of the rungs with these names. If there are no names,
    /// all rungs that compute the problem are launched. `block` applies to all rungs; `None` selects each rung's
    /// default block. `runs` is the number of timed launches of each rung; `None` only checks the rungs. `device` is
    /// the device that the launches are for. Before the device is open, pass [`DeviceProperties::default`], and call
    /// [`Plan::fit`] later. A rung that was not requested by name is left out if it was not compiled for the block or
    /// if the problem rejects it. If no rung remains, `new` returns an error.
    ///
    /// # Errors
    /// Returns the errors of [`Ladder::problem`] when the ladder does not accept the options. Returns the errors of
    /// [`Ladder::select`] when a name is not a rung or the rung does not compute the problem. Returns the errors of
    /// [`Ladder::launch`] when a rung cannot be launched with the block.
    pub fn new(
        ladder: &'static Ladder,
        rungs: &[String],
        options: &Options,
        block: Option<[u32; 3]>,
        runs: Option<u32>,
        device: DeviceProperties,
    ) -> Result<Self, Error> {
        let problem = ladder.problem(options)?;
        let selected = ladder.select(rungs, &*problem)?;
        let block = |_: &Rung| block.into_iter().collect();
        let (launches, not_compiled) = ladder.launches(selected, &*problem, device, block, rungs.is_empty())?;
        let left_out = not_compiled.iter().map(ToString::to_string).collect();
        if launches.is_empty()
            && let Some(error) = not_compiled.into_iter().next()
        {
            return Err(error);
        }
        let options = ladder.complete(options)?.with_all(&problem.facts().chosen);
        Ok(Self { ladder, options, problem, device, launches, runs, named: !rungs.is_empty(), left_out })
    }

    /// Returns the rungs to run, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        self.launches.iter().map(|(rung, _)| *rung).collect()
    }

    /// Returns the rungs to run, with the launch of each.
    pub fn launches(&self) -> &[(&'static Rung, Launch)] {
        &self.launches
    }

    /// Returns the reasons why unnamed rungs are left out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the properties of the device that the launches are for.
    pub fn device(&self) -> DeviceProperties {
        self.device
    }

    /// Returns the problem that the rungs compute.
    pub fn problem(&self) -> &dyn Problem {
        &*self.problem
    }

    /// Checks each rung on a device, starting with rung number `first`, and times it if the plan includes timed
    /// launches.
    ///
    /// # Errors
    /// Returns [`Error::NotEnoughMemory`] when the problem does not fit into the device's memory, and the device's
    /// error when the device fails.
    pub fn steps<'a>(
        &'a self,
        device: &'a mut (dyn Device + 'a),
        first: usize,
    ) -> Result<impl Iterator<Item = Result<Step, Error>> + 'a, Error> {
        let (problem, runs) = (&*self.problem, self.runs);
        device.set_counting(runs.is_some());
        let restorable = self.launches.iter().any(|(rung, _)| rung.in_place);
        let session = match runs {
            Some(_) => Session::timed(device, problem)?,
            None => Session::new(device, problem, restorable)?,
        };
        let launches = self.launches.get(first..).unwrap_or_default();
        Ok(steps(session, launches, move |session, rung, launch| step(session, rung, launch, runs)))
    }

    /// Returns the report of a run of this plan on a device, with these sanitizers. `steps` are the results of the
    /// first launches, and `progress` is called with each rung before its step.
    ///
    /// # Errors
    /// Returns the first error of `steps`.
    pub fn report<E>(
        &self,
        device: DeviceInfo,
        checks: Checks,
        steps: impl Iterator<Item = Result<Step, E>>,
        mut progress: impl FnMut(&Rung),
    ) -> Result<Report, E> {
        let (mut outcomes, mut sets) = (Vec::with_capacity(self.launches.len()), 1);
        for ((rung, launch), step) in self.launches.iter().inspect(|(rung, _)| progress(rung)).zip(steps) {
            let Step { verdict, has_failed, picture, samples, ran, findings, notes, sets: step_sets, .. } = step?;
            let (launch, counters) = (launch.clone(), ran.counters);
            sets = sets.max(step_sets);
            outcomes.push(RungResult {
                rung,
                launch,
                verdict,
                has_failed,
                picture,
                samples,
                counters,
                findings,
                notes,
            });
        }
        let is_timed = outcomes.iter().any(|outcome| outcome.samples.is_some());
        let Facts { bytes, flops, .. } = self.problem.facts();
        Ok(Report {
            ladder: self.ladder,
            device,
            options: self.options.clone(),
            title: self.problem.labels().title,
            bytes,
            flops,
            runs: self.runs.filter(|_| is_timed),
            sets,
            checks,
            not_run: self.launches.iter().skip(outcomes.len()).map(|(rung, _)| rung.name).collect(),
            outcomes,
            left_out: self.left_out.clone(),
        })
    }

    /// Adapts all launches to a device without changing their blocks.
    ///
    /// # Errors
    /// Returns the errors of [`Ladder::launch`].
    pub fn fit(&mut self, device: DeviceProperties) -> Result<(), Error> {
        for (rung, launch) in &mut self.launches {
            *launch = self.ladder.launch(rung, &*self.problem, Some(launch.block), device)?;
        }
        self.device = device;
        Ok(())
    }

    /// [Adapts](Plan::fit) the launches to an open device, and leaves out the launches that the device does not
    /// support.
    ///
    /// # Errors
    /// Returns [`Error::NeedsNewer`] when the rungs were requested by name. The error names the last rung of the ladder
    /// that the device can run.
    pub fn leave_out_unsupported(&mut self, device: &dyn Device) -> Result<(), Error> {
        let properties = device.info().properties();
        self.fit(properties)?;
        let (ladder, problem) = (self.ladder, &*self.problem);
        let runs = |rung: &&'static Rung| {
            let launch = ladder.launch(rung, problem, None, properties);
            launch.is_ok_and(|launch| device.check_supported(&launch).is_none())
        };
        let mut others = ladder.select(&[], problem).unwrap_or_default().into_iter();
        let last = others.rfind(runs);
        self.leave_out(|_, launch| device.check_supported(launch)).map_err(|error| match error {
            Error::NeedsNewer { needs, .. } => Error::NeedsNewer { needs, instead: last.map(|rung| rung.name) },
            error => error,
        })
    }

    /// Leaves out the launches for which `check` returns an error, and records the text of each error as the reason.
    ///
    /// # Errors
    /// Returns the first of these errors when the rungs were requested by name.
    pub fn leave_out<E: fmt::Display>(&mut self, mut check: impl FnMut(&Rung, &Launch) -> Option<E>) -> Result<(), E> {
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

/// Checks each rung of `plan`, and times it if the plan includes timed launches. `progress` is called with each rung
/// before it runs. Rungs that the device does not support are left out of the plan. If the user interrupts the run or
/// the device becomes unusable, the report contains the results so far.
///
/// # Errors
/// Returns [`Error::NeedsNewer`], before anything runs, when the device does not support a rung that was requested by
/// name, and the errors of [`Plan::steps`].
pub fn run(device: &mut dyn Device, mut plan: Plan, progress: impl FnMut(&Rung)) -> Result<Report, Error> {
    plan.leave_out_unsupported(device)?;
    let (info, checks) = (device.info().clone(), device.checks());
    plan.report(info, checks, plan.steps(device, 0)?, progress)
}

/// Checks a rung, and times it if `runs` is given.
fn step(session: &mut Session<'_>, rung: &Rung, launch: &Launch, runs: Option<u32>) -> Result<Step, Error> {
    let mut step = session.attempt(rung, launch)?;
    // A device without a clock cannot time launches.
    if let (Some(runs), Some(_)) = (runs, step.ran.time_ns) {
        match session.time(rung, launch, runs) {
            Ok(timed) => step.samples = timed,
            Err(error) => step = Step::or_failed(Err(error))?,
        }
    }
    Ok(step)
}

impl Report {
    /// Returns whether every rung ran with a right result and without findings.
    pub fn all_right(&self) -> bool {
        self.not_run.is_empty()
            && self.outcomes.iter().all(|outcome| outcome.verdict.is_right() && outcome.findings.is_empty())
    }

    /// Returns whether any rung has counters.
    pub fn counted(&self) -> bool {
        self.outcomes.iter().any(|outcome| !outcome.counters.is_empty())
    }

    /// Returns the speedup of `outcome` over the rung with this name, if both were timed.
    pub fn speedup_over(&self, outcome: &RungResult, name: &str) -> Option<f64> {
        let base = self.outcomes.iter().find(|other| other.rung.name == name)?;
        speedup(base, outcome)
    }

    /// Returns the speedup of `outcome` over the ladder's first rung, if both were timed.
    pub fn speedup_vs_first(&self, outcome: &RungResult) -> Option<f64> {
        self.speedup_over(outcome, self.ladder.rungs.first()?.name)
    }

    /// Returns the speedup of the rung at `index` over the previous rung.
    pub fn speedup_vs_before(&self, index: usize) -> Option<f64> {
        let before = self.outcomes.get(index.checked_sub(1)?)?;
        speedup(before, self.outcomes.get(index)?)
    }

    /// Returns the effective bandwidth in bytes per second, if the rung was timed.
    pub fn bytes_per_s(&self, outcome: &RungResult) -> Option<f64> {
        per_second(self.bytes, outcome)
    }

    /// Returns the floating-point operations per second, if the rung was timed and the ladder counts operations.
    pub fn flops_per_s(&self, outcome: &RungResult) -> Option<f64> {
        per_second(self.flops?, outcome)
    }
}

fn per_second(amount: u64, outcome: &RungResult) -> Option<f64> {
    let median = outcome.median_ns()?;
    (median > 0.0).then(|| amount as f64 / (median * 1e-9))
}

fn speedup(base: &RungResult, outcome: &RungResult) -> Option<f64> {
    let (base_time, time) = (base.median_ns()?, outcome.median_ns()?);
    (time > 0.0).then(|| base_time / time)
}
