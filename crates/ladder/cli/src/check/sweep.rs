//! Runs the checks of a ladder: rungs × problems × blocks.

use engine::device::{Checks, DeviceInfo, Schedule};
use engine::launch::Launch;
use engine::options::Options;
use engine::problem::{Labels, Problem, Verdict, buffer_bytes};
use engine::registry::{DeviceProperties, Effort, Launches, Rung};
use engine::run::{Session, Step, steps};
use engine::selection::Selection;
use engine::size::dims;

use super::show::{Check, Sweep};
use crate::command::progress_bar;
use crate::error::Error;
use crate::launcher::Launcher;

/// The checks of one ladder. The request is validated before a device is opened.
pub(super) struct Plan<'a> {
    pub(super) selected: &'a Selection,
    blocks: &'a [[u32; 3]],
    /// The problems that the user gave; `None` stands for the default sweep of the ladder.
    problems: Option<Vec<Options>>,
    /// The number of random schedules that each launch also runs under.
    schedules: u32,
    /// The maximum size, in bytes of data, of a problem that the sanitizers check.
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
        // Plan the block for the default problem before the sweep starts, to refuse a block that no rung supports.
        let some = [Options::default()];
        for options in plan.problems.as_deref().unwrap_or(&some) {
            plan.launches(&*selected.ladder.problem(options)?, DeviceProperties::default())?;
        }
        Ok(plan)
    }

    /// Returns the launches for a problem on a device. The default sweep of the ladder leaves out rungs that do not
    /// compute the problem, and blocks that a rung was not compiled for. If the user gave the problem, a named rung
    /// that does not compute the problem is an error. So is a block that a rung was not compiled for, if the rung was
    /// named or if no launch is left. Rungs that the problem refuses are also left out, but the sweep records them.
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

    /// Returns the problems to check: fewer on the simulator than on a GPU.
    fn problems(&self, is_sim: bool) -> Vec<Options> {
        let effort = if is_sim { Effort::Quick } else { Effort::Full };
        self.problems.clone().unwrap_or_else(|| (self.selected.ladder.sweep)(effort))
    }

    /// Checks one problem after another, so that only one problem is in memory. The sanitizers in `usual` check small
    /// problems. If the launcher stops, the sweep returns the results up to that point.
    pub(super) fn sweep(
        &self,
        launcher: &mut Launcher<'_>,
        info: &DeviceInfo,
        usual: Checks,
        terminal: bool,
    ) -> Result<Sweep, Error> {
        let ladder = self.selected.ladder;
        let (problems, device) = (self.problems(info.kind == "sim"), info.properties());
        let bar = progress_bar(problems.len(), terminal);
        let mut sweep = Sweep { ladder: ladder.name, schedules: self.schedules, ..Sweep::default() };
        for options in &problems {
            if launcher.skips_problem() {
                continue;
            }
            let problem = ladder.problem(options)?;
            let Labels { size, column, .. } = problem.labels();
            bar.set_message(format!("{}, {size}", ladder.name));
            let (launches, left_out) = self.launches(&*problem, device)?;
            left_out.into_iter().for_each(|error| sweep.leave_out(error));
            let checks = if buffer_bytes(&*problem, device) <= self.most_bytes { usual } else { Checks::NONE };
            let steps = launcher.steps(|device, first| {
                device.set_checks(checks);
                let session = Session::new(device, &*problem, launches.iter().any(|(rung, _)| rung.in_place))?;
                let launches = launches.get(first..).unwrap_or_default();
                Ok(steps(session, launches, |session, rung, launch| self.attempt(session, rung, launch, options)))
            })?;
            for ((rung, launch), step) in launches.iter().zip(steps) {
                let Step { verdict, is_supported, has_failed, schedule, findings, notes, .. } = step?;
                let wrong = match verdict {
                    Verdict::Right => None,
                    Verdict::Wrong(why) if is_supported => Some(format!("wrong: {launch} at {size}: {why}")),
                    Verdict::Wrong(why) if self.selected.whole => {
                        sweep.left_out.insert(why);
                        continue;
                    }
                    Verdict::Wrong(why) => return Err(Error::Request(why)),
                };
                sweep.checks.push(Check {
                    ladder: ladder.name,
                    rung: rung.name,
                    correct: wrong.is_none(),
                    wrong,
                    problem: size.clone(),
                    column: column.clone(),
                    grid: launch.grid,
                    block: launch.block,
                    entry: launch.entry.clone(),
                    schedule,
                    findings,
                    notes,
                    failed: has_failed.then(|| (*rung, options.clone())),
                });
            }
            sweep.ended = launcher.stop_reason();
            if sweep.ended.is_some() {
                break;
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(sweep)
    }

    /// Launches a rung once, and then under each random schedule.
    fn attempt(
        &self,
        session: &mut Session<'_>,
        rung: &Rung,
        launch: &Launch,
        options: &Options,
    ) -> Result<Step, engine::Error> {
        if let Some(error) = session.check_supported(launch) {
            return Ok(Step::unsupported(&error));
        }
        let mut step = session.attempt(rung, launch)?;
        step.schedule = Some(session.schedule())
            .filter(|schedule| *schedule != Schedule::Fixed)
            .map(|schedule| schedule.to_string());
        let mut seeds = 1..=u64::from(self.schedules);
        while step.verdict.is_right()
            && let Some(seed) = seeds.next()
        {
            let random = Schedule::Random(seed);
            if let Verdict::Wrong(why) = session.check_under(random, rung, launch)? {
                let again = again(rung, launch, options);
                let hint = format!("`{again} --schedule {random}` reproduces the error");
                step.verdict = Verdict::Wrong(format!("under the schedule {random}: {why}; {hint}"));
                step.schedule = Some(random.to_string());
            }
        }
        Ok(step)
    }
}

/// Returns the command that checks only this launch.
fn again(rung: &Rung, launch: &Launch, options: &Options) -> String {
    let (options, block) = (options.command_line(), dims(launch.block));
    let options = if options.is_empty() { options } else { format!(" {options}") };
    format!("ladder check {}{options} --block {block} --device sim", rung.name)
}
