//! Running a ladder: the problem is uploaded once, then each rung is checked and timed.

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
    /// How it was launched.
    pub launch: Launch,
    /// Whether its result was right.
    pub verdict: Verdict,
    /// Whether the launch failed; the verdict has the device's words.
    pub has_failed: bool,
    /// A picture of its values, when the ladder shows one.
    pub picture: Option<Picture>,
    /// Its times, when it was timed.
    pub samples: Option<Samples>,
    /// Its counters, when the device counts.
    pub counters: Vec<Metric>,
    /// What the device's checks have found; of a launch that failed on a GPU, those of the simulator.
    pub findings: Vec<Finding>,
    /// What else there is to say of the checks, a sentence each.
    pub notes: Vec<String>,
}

impl RungResult {
    /// Returns the value of a counter: `None` when it was not counted, or when it is a quotient whose divisor is 0.
    pub fn counter(&self, name: &str) -> Option<f64> {
        let metric = self.counters.iter().find(|metric| metric.name == name)?;
        metric.value.number()
    }

    /// Returns the median of its times in nanoseconds, when it was timed.
    pub fn median_ns(&self) -> Option<f64> {
        Some(self.samples.as_ref()?.median())
    }
}

/// The results of a run of a ladder.
#[derive(Clone, Debug)]
pub struct Report {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The device that it ran on.
    pub device: DeviceInfo,
    /// The problem's options, complete.
    pub options: Options,
    /// The problem in words.
    pub title: String,
    /// The number of bytes for computing effective bandwidth.
    pub bytes: u64,
    /// The number of floating-point operations, when the ladder is measured in operations per second.
    pub flops: Option<u64>,
    /// The number of timed launches of each rung; `None` when none was timed, as on a device without a clock.
    pub runs: Option<u32>,
    /// The number of sets of buffers that the launches rotate through, so that their data are not in the L2 cache.
    pub sets: usize,
    /// What the launches were checked for besides their results.
    pub checks: Checks,
    /// The rungs that ran, in the ladder's order.
    pub outcomes: Vec<RungResult>,
    /// The reasons why other rungs did not run.
    pub left_out: Vec<String>,
    /// The rungs that were to run and did not: somebody ended the run, or the device.
    pub not_run: Vec<&'static str>,
}

/// Runs launches one after the other, each by `attempt`. Ends before the others when the user interrupts the program, and when the
/// device is not usable any more. A launch that fails is not an error but has a wrong result.
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

/// A request that was checked for errors, before a device is opened for it.
pub struct Plan {
    ladder: &'static Ladder,
    options: Options,
    problem: Box<dyn Problem>,
    /// The device that the launches are made for.
    device: DeviceProperties,
    launches: Launches,
    runs: Option<u32>,
    /// Whether the rungs were requested by name.
    named: bool,
    /// The reasons why rungs that were not requested by name are left out.
    left_out: Vec<String>,
}

impl Plan {
    /// Makes the problem with these options and the launches of the rungs of these names; of all rungs that compute the
    /// problem when there are none. `block` is for all rungs; `None` takes the default block of each. `runs` is the
    /// number of timed launches of each rung; `None` only checks. `device` is the device that the launches are made for:
    /// [`DeviceProperties::default`] as long as it is not open, and then [`Plan::fit`]. Rungs that were not requested by name and that were
    /// not compiled for the block, or that the problem refuses, are left out, unless no rung would be left.
    ///
    /// # Errors
    /// When the ladder does not take the options, as [`Ladder::problem`] says; when a name is not a rung's or the rung
    /// does not compute the problem, as [`Ladder::select`] says; and when a rung cannot be launched with the block, as
    /// [`Ladder::launch`] says.
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

    /// Returns the rungs that will be run, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        self.launches.iter().map(|(rung, _)| *rung).collect()
    }

    /// Returns the rungs that will be run, with the launch of each.
    pub fn launches(&self) -> &[(&'static Rung, Launch)] {
        &self.launches
    }

    /// Returns the reasons why rungs that were not requested by name are left out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the device that the launches are made for.
    pub fn device(&self) -> DeviceProperties {
        self.device
    }

    /// Returns the problem that the rungs compute.
    pub fn problem(&self) -> &dyn Problem {
        &*self.problem
    }

    /// Checks each rung on a device, beginning with that of the number `first`, and times it when the plan asks for timed
    /// launches.
    ///
    /// # Errors
    /// Returns [`Error::NotEnoughMemory`] when the problem does not fit into the device's memory; and the device's error when it fails.
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

    /// Returns the report of a run of this plan on a device, with these checks. `steps` are the results of the first launches, and
    /// `progress` is called with each rung before the step of it.
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
            let Step { verdict, has_failed, picture, samples, ran, findings, notes, sets: own, .. } = step?;
            let (launch, counters) = (launch.clone(), ran.counters);
            sets = sets.max(own);
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

    /// Makes all launches for a device, with the blocks that they have.
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

    /// [Fits](Plan::fit) the launches to an open device, and leaves out those that it does not support.
    ///
    /// # Errors
    /// Returns [`Error::NeedsNewer`] when the rungs were requested by name, with the last rung of the ladder that the device runs.
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

    /// Leaves out the launches for which `check` returns an error, and keeps the error's text as the reason.
    ///
    /// # Errors
    /// The first of those errors, when the rungs were requested by name.
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

/// Checks each rung of `plan`, and times it when the plan asks for timed launches. `progress` is called with each rung
/// before it runs. Rungs that the device does not support are left out of the plan. A run that somebody ends, or after
/// which the device is not usable, ends with what it has.
///
/// # Errors
/// Returns [`Error::NeedsNewer`], before anything runs, when the device does not support a rung that was requested by name, and when
/// [`Plan::steps`] fails.
pub fn run(device: &mut dyn Device, mut plan: Plan, progress: impl FnMut(&Rung)) -> Result<Report, Error> {
    plan.leave_out_unsupported(device)?;
    let (info, checks) = (device.info().clone(), device.checks());
    plan.report(info, checks, plan.steps(device, 0)?, progress)
}

/// Checks a rung, and times it if there are `runs`.
fn step(session: &mut Session<'_>, rung: &Rung, launch: &Launch, runs: Option<u32>) -> Result<Step, Error> {
    let mut step = session.attempt(rung, launch)?;
    // A device without a clock has nothing more to measure.
    if let (Some(runs), Some(_)) = (runs, step.ran.time_ns) {
        match session.time(rung, launch, runs) {
            Ok(timed) => step.samples = timed,
            Err(error) => step = Step::or_failed(Err(error))?,
        }
    }
    Ok(step)
}

impl Report {
    /// Returns whether every rung has run and was right, and nothing was found.
    pub fn all_right(&self) -> bool {
        self.not_run.is_empty() && self.outcomes.iter().all(|own| own.verdict.is_right() && own.findings.is_empty())
    }

    /// Returns whether any rung has counters.
    pub fn counted(&self) -> bool {
        self.outcomes.iter().any(|own| !own.counters.is_empty())
    }

    /// Returns the speedup of `outcome` over the rung of this name, when both were timed.
    pub fn speedup_over(&self, outcome: &RungResult, name: &str) -> Option<f64> {
        let base = self.outcomes.iter().find(|other| other.rung.name == name)?;
        speedup(base, outcome)
    }

    /// Returns the speedup over the ladder's first rung, when both were timed.
    pub fn speedup_vs_first(&self, outcome: &RungResult) -> Option<f64> {
        self.speedup_over(outcome, self.ladder.rungs.first()?.name)
    }

    /// Returns the speedup of the rung at `index` over the one that ran before it.
    pub fn speedup_vs_before(&self, index: usize) -> Option<f64> {
        let before = self.outcomes.get(index.checked_sub(1)?)?;
        speedup(before, self.outcomes.get(index)?)
    }

    /// Returns the effective bandwidth in bytes per second, when the rung was timed.
    pub fn bytes_per_s(&self, outcome: &RungResult) -> Option<f64> {
        per_second(self.bytes, outcome)
    }

    /// Returns the floating-point operations per second, when the rung was timed and the ladder counts operations.
    pub fn flops_per_s(&self, outcome: &RungResult) -> Option<f64> {
        per_second(self.flops?, outcome)
    }
}

fn per_second(amount: u64, outcome: &RungResult) -> Option<f64> {
    let median = outcome.median_ns()?;
    (median > 0.0).then(|| amount as f64 / (median * 1e-9))
}

fn speedup(base: &RungResult, outcome: &RungResult) -> Option<f64> {
    let (base, own) = (base.median_ns()?, outcome.median_ns()?);
    (own > 0.0).then(|| base / own)
}
