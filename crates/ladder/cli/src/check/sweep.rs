//! Running the checks of a ladder: rungs × problems × blocks, here or by other processes.

use engine::device::{Checks, Device, DeviceInfo, Finding, Schedule};
use engine::launch::Launch;
use engine::options::Options;
use engine::problem::{Labels, Problem, Verdict, buffer_bytes};
use engine::registry::{DeviceProperties, Effort, Launches, Rung};
use engine::run::{CheckedLaunch, Session};
use engine::selection::Selection;
use engine::size::dims;
use simt::run::is_interrupted;

use super::show::{Check, Sweep};
use crate::command::{Output, progress_bar};
use crate::error::Error;
use crate::workers::{self, LaunchResult, Message, Workers};

/// The checks of one ladder. The request is validated before a device is opened.
pub(super) struct Plan<'a> {
    pub(super) selected: &'a Selection,
    blocks: &'a [[u32; 3]],
    /// The problems that were given; `None` stands for the ladder's own sweep.
    problems: Option<Vec<Options>>,
    /// How many random schedules each launch is run under besides.
    schedules: u32,
    /// The most bytes of data of a problem for which the device's checks are on.
    most_bytes: u64,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        selected: &'a Selection,
        blocks: &'a [[u32; 3]],
        schedules: u32,
        most_bytes: u64,
    ) -> Result<Self, Error> {
        let problems = selected.combinations()?;
        let plan = Self { selected, blocks, problems, schedules, most_bytes };
        // A block that no rung supports is refused before the sweep, by trying it on the default problem.
        let some = [Options::default()];
        for options in plan.problems.as_deref().unwrap_or(&some) {
            plan.launches(&*selected.ladder.problem(options)?, DeviceProperties::default())?;
        }
        Ok(plan)
    }

    /// The launches for a problem on a device. In the ladder's own sweep, rungs that do not compute the problem and blocks that a
    /// rung was not compiled for are left out. When the user gave the problem, both are errors; a missing block is an
    /// error only for rungs that were named, or if no launch is left.
    /// Rungs that the problem refuses are left out like blocks, and told.
    fn launches(
        &self,
        problem: &dyn Problem,
        device: DeviceProperties,
    ) -> Result<(Launches, Vec<engine::Error>), Error> {
        let (ladder, names) = (self.selected.ladder, self.selected.rung_names());
        let is_given = self.problems.is_some();
        let rungs = match is_given {
            true => ladder.select(names, problem)?,
            false => ladder.named(names)?,
        };
        let blocks = |rung: &Rung| match self.blocks {
            [] => ladder.blocks_of(rung, problem),
            blocks => blocks.to_vec(),
        };
        let may_leave_out = !is_given || names.is_empty();
        let (launches, mut left_out) = ladder.launches(rungs, problem, device, blocks, may_leave_out)?;
        if is_given && launches.is_empty() && !left_out.is_empty() {
            return Err(left_out.swap_remove(0).into());
        }
        Ok((launches, left_out))
    }

    /// The problems to check, by the effort that the device is worth.
    fn problems(&self, is_sim: bool) -> Vec<Options> {
        let effort = if is_sim { Effort::Quick } else { Effort::Full };
        self.problems.clone().unwrap_or_else(|| (self.selected.ladder.sweep)(effort))
    }

    /// Checks one problem after the other, so that only one is in memory. Ends with what it has when somebody asks for it, and
    /// when the device is not usable any more.
    pub(super) fn sweep(&self, mut runner: Runner<'_, '_>, info: &DeviceInfo, terminal: bool) -> Result<Sweep, Error> {
        let ladder = self.selected.ladder;
        let (problems, device) = (self.problems(info.kind == "sim"), info.properties());
        let bar = progress_bar(problems.len(), terminal);
        let mut sweep = Sweep { ladder: ladder.name, schedules: self.schedules, ..Sweep::default() };
        let usual = runner.checks();
        'problems: for options in &problems {
            let problem = ladder.problem(options)?;
            let Labels { size, column, .. } = problem.labels();
            bar.set_message(format!("{}, {size}", ladder.name));
            let (launches, left_out) = self.launches(&*problem, device)?;
            left_out.into_iter().for_each(|error| sweep.leave_out(error));
            let checks = if buffer_bytes(&*problem, device) <= self.most_bytes { usual } else { Checks::NONE };
            let mut launcher = runner.of(&*problem, &launches, checks)?;
            for (rung, launch) in launches {
                let attempt = match &mut launcher {
                    Launcher::Session(_) if is_interrupted() => Err(engine::Error::Interrupted.into()),
                    Launcher::Session(session) => self.attempt(session, (rung, &launch), options),
                    Launcher::Workers(workers) => workers.result().map(|own| own.map(Attempt::from)),
                };
                let attempt = match attempt {
                    Err(Error::Engine(engine::Error::Interrupted)) => {
                        sweep.ended = Some("interrupted");
                        break 'problems;
                    }
                    attempt => attempt?,
                };
                let Attempt { verdict, has_failed, is_usable, schedule, findings, notes } = match attempt {
                    Ok(attempt) => attempt,
                    Err(why) if self.selected.whole => {
                        sweep.left_out.insert(why);
                        continue;
                    }
                    Err(why) => return Err(Error::Request(why)),
                };
                sweep.checks.push(Check {
                    ladder: ladder.name,
                    rung: rung.name,
                    correct: verdict.is_right(),
                    wrong: match verdict {
                        Verdict::Right => None,
                        Verdict::Wrong(why) => Some(format!("wrong: {launch} at {size}: {why}")),
                    },
                    problem: size.clone(),
                    column: column.clone(),
                    grid: launch.grid,
                    block: launch.block,
                    entry: launch.entry,
                    schedule,
                    findings,
                    notes,
                    failed: has_failed.then(|| (rung, options.clone())),
                });
                if !is_usable && matches!(launcher, Launcher::Session(_)) {
                    sweep.ended = Some("the device runs nothing more in this process");
                    break 'problems;
                }
            }
            bar.inc(1);
        }
        match &mut runner {
            Runner::Device(device) => device.set_checks(usual),
            Runner::Workers(workers) => workers.end(),
        }
        bar.finish_and_clear();
        Ok(sweep)
    }

    /// Launches once, and then under the random schedules. The inner error is why the device does not support the launch.
    fn attempt(
        &self,
        session: &mut Session<'_>,
        (rung, launch): (&Rung, &Launch),
        options: &Options,
    ) -> Result<Result<Attempt, String>, Error> {
        if let Some(error) = session.check_supported(launch) {
            return Ok(Err(error.to_string()));
        }
        let CheckedLaunch { mut verdict, has_failed, .. } = session.attempt(rung, launch)?;
        let is_usable = session.is_usable_after(has_failed);
        let mut schedule = Some(session.schedule()).filter(|own| *own != Schedule::Fixed).map(|own| own.to_string());
        let (findings, notes) = (session.take_findings(), session.take_notes());
        let mut seeds = 1..=u64::from(self.schedules);
        while verdict.is_right()
            && let Some(seed) = seeds.next()
        {
            let random = Schedule::Random(seed);
            if let Verdict::Wrong(why) = session.check_under(random, rung, launch)? {
                let again = again(rung, launch, options);
                let hint = format!("`{again} --schedule {random}` does it again");
                verdict = Verdict::Wrong(format!("under the schedule {random}: {why}; {hint}"));
                schedule = Some(random.to_string());
            }
        }
        Ok(Ok(Attempt { verdict, has_failed, is_usable, schedule, findings, notes }))
    }

    /// Runs the launches that another process wants from this one, and tells it what came of each.
    pub(super) fn work(&self, device: &mut dyn Device, first: usize, to: &mut Output<'_>) -> Result<u8, Error> {
        let mut number = 0;
        let mut work = || -> Result<(), Error> {
            for options in &self.problems(device.info().kind == "sim") {
                let problem = self.selected.ladder.problem(options)?;
                let (launches, _) = self.launches(&*problem, device.info().properties())?;
                let begin = first.saturating_sub(number).min(launches.len());
                number += launches.len();
                if begin == launches.len() {
                    continue;
                }
                let mut session = session(&mut *device, &*problem, &launches)?;
                for (rung, launch) in &launches[begin..] {
                    let attempt = self.attempt(&mut session, (rung, launch), options)?;
                    let is_usable = attempt.as_ref().is_ok_and(|own| own.is_usable) || attempt.is_err();
                    let message = attempt.map_or_else(Message::NotSupported, |own| Message::Result(own.into()));
                    workers::send(&message, to.out)?;
                    if !is_usable {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        let worked = work();
        workers::end(worked, to.out)
    }
}

/// A session for these launches of a problem.
fn session<'s>(
    device: &'s mut (dyn Device + 's),
    problem: &'s dyn Problem,
    launches: &Launches,
) -> Result<Session<'s>, engine::Error> {
    Session::new(device, problem, launches.iter().any(|(rung, _)| rung.in_place))
}

/// What runs the launches of a sweep.
pub(super) enum Runner<'r, 'e> {
    /// This process, on a device.
    Device(&'r mut (dyn Device + 'r)),
    /// Other processes, on a GPU.
    Workers(Workers<'e>),
}

/// What runs the launches of one problem.
enum Launcher<'r, 'w, 'e> {
    Session(Session<'r>),
    Workers(&'w mut Workers<'e>),
}

impl<'e> Runner<'_, 'e> {
    /// What launches are checked for.
    fn checks(&self) -> Checks {
        match self {
            Self::Device(device) => device.checks(),
            Self::Workers(_) => Checks::NONE,
        }
    }

    /// The launches of a problem, with these checks.
    fn of<'r>(
        &'r mut self,
        problem: &'r dyn Problem,
        launches: &Launches,
        checks: Checks,
    ) -> Result<Launcher<'r, 'r, 'e>, Error> {
        Ok(match self {
            Self::Device(device) => {
                device.set_checks(checks);
                Launcher::Session(session(&mut **device, problem, launches)?)
            }
            Self::Workers(workers) => Launcher::Workers(workers),
        })
    }
}

/// What came of a launch, under the usual schedule and under others.
struct Attempt {
    verdict: Verdict,
    /// Whether the usual launch failed.
    has_failed: bool,
    /// Whether the device runs further launches.
    is_usable: bool,
    schedule: Option<String>,
    findings: Vec<Finding>,
    notes: Vec<String>,
}

impl From<LaunchResult> for Attempt {
    fn from(result: LaunchResult) -> Self {
        let LaunchResult { verdict, has_failed, is_usable, .. } = result;
        Self { verdict, has_failed, is_usable, schedule: None, findings: Vec::new(), notes: Vec::new() }
    }
}

impl From<Attempt> for LaunchResult {
    fn from(attempt: Attempt) -> Self {
        let Attempt { verdict, has_failed, is_usable, .. } = attempt;
        Self { verdict, has_failed, picture: None, samples: None, sets: 1, is_usable }
    }
}

/// The command that checks this launch alone.
fn again(rung: &Rung, launch: &Launch, options: &Options) -> String {
    let (options, block) = (options.command_line(), dims(launch.block));
    let options = if options.is_empty() { options } else { format!(" {options}") };
    format!("ladder check {}{options} --block {block} --device sim", rung.name)
}
