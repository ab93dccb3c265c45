//! `ladder check`: checks rungs × problems × blocks, with one launch of each.

use std::collections::BTreeSet;

use clap::{ArgMatches, Args};
use engine::device::{Checks, Choice, Device, Finding, Schedule};
use engine::launch::Launch;
use engine::options::Options;
use engine::problem::{Problem, Verdict};
use engine::registry::{Effort, Launches, Rung};
use engine::run::Session;
use engine::selection::Selection;
use engine::size::dims;
use serde::Serialize;

use crate::command::{Command, CommandArgs, Output};
use crate::env::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::output::{Cell, Column, Document, Format, NOTHING, Printer, Table};

pub(crate) const CHECK: Command = Command {
    name: "check",
    about: "Check the results of rungs over many sizes and blocks, one launch each and without timing",
    arguments: CommandArgs::<Arguments>::arguments_of_several,
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// What sim looks for besides wrong results: memory, init, race and sync with commas between them, all or none
    /// [default: all, where the problem has up to 256 KiB of data]
    #[arg(long, value_name = "CHECKS")]
    sanitize: Option<Checks>,
    /// Launch each of them N more times on sim, under random schedules: in another order of blocks, warps and diverged lanes,
    /// with asynchronous copies that are late, and with other bytes in memory that is not initialized
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    schedules: u32,
    /// In which order sim runs blocks, warps and diverged lanes: fixed, round-robin or random:SEED
    #[arg(long, value_name = "ORDER", default_value_t)]
    schedule: Schedule,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let selected = targets.select(env.catalog)?;
    let most_bytes = if args.sanitize.is_some() { u64::MAX } else { USUAL_BYTES };
    let plans = selected.iter().map(|own| Plan::new(own, &targets.blocks, args.schedules, most_bytes));
    let plans: Vec<Plan<'_>> = plans.collect::<Result<_, _>>()?;

    let mut device = (env.open)(args.device)?;
    sanitize(&mut *device, args.sanitize, Checks::ALL)?;
    if device.info().kind != "sim" && (args.schedules > 0 || args.schedule != Schedule::Fixed) {
        let why = "--schedules and --schedule: only sim can run kernels in another order; add --device sim";
        return Err(Error::Request(why.to_owned()));
    }
    device.set_schedule(args.schedule);
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    for plan in plans {
        let sweep = plan.sweep(&mut *device, env.terminal)?;
        printer.show(&sweep.document(plan.selected))?;
        if !sweep.all_right() {
            code = WRONG;
        }
    }
    let mut place = Document::default();
    place.paragraph(format!("on {}", device.info()));
    printer.show(&place)?;
    printer.finish()?;
    Ok(code)
}

/// The most bytes of a problem whose kernels sim checks when nobody has asked for it: enough for every edge of every rung, while
/// the largest problems would take minutes.
const USUAL_BYTES: u64 = 256 << 10;

/// Lets a device check kernels: for what was asked for, or else for `usual` if it can.
///
/// # Errors
/// [`Error::Request`] when checks were asked for that the device does not have.
pub(crate) fn sanitize(device: &mut dyn Device, asked: Option<Checks>, usual: Checks) -> Result<(), Error> {
    if device.info().kind != "sim" && asked.is_some_and(|checks| !checks.is_empty()) {
        let why = "--sanitize: only sim checks what kernels do; add --device sim, or use compute-sanitizer on a GPU";
        return Err(Error::Request(why.to_owned()));
    }
    device.set_checks(asked.unwrap_or(usual));
    Ok(())
}

/// The checks of one ladder. The request is validated before a device is opened.
struct Plan<'a> {
    selected: &'a Selection,
    blocks: &'a [[u32; 3]],
    /// The problems that were given; `None` stands for the ladder's own sweep.
    problems: Option<Vec<Options>>,
    /// How many random schedules each launch is run under besides.
    schedules: u32,
    /// The most bytes of data of a problem for which the device's checks are on.
    most_bytes: u64,
}

impl<'a> Plan<'a> {
    fn new(selected: &'a Selection, blocks: &'a [[u32; 3]], schedules: u32, most_bytes: u64) -> Result<Self, Error> {
        let problems = selected.combinations()?;
        let plan = Self { selected, blocks, problems, schedules, most_bytes };
        // A block that no rung supports is refused before the sweep, by trying it on the default problem.
        let some = [Options::default()];
        for options in plan.problems.as_deref().unwrap_or(&some) {
            plan.launches(&*selected.ladder.problem(options)?)?;
        }
        Ok(plan)
    }

    /// The launches for a problem. In the ladder's own sweep, rungs that do not compute the problem and blocks that a
    /// rung was not compiled for are left out. When the user gave the problem, both are errors; a missing block is an
    /// error only for rungs that were named, or if no launch is left.
    fn launches(&self, problem: &dyn Problem) -> Result<Launches, Error> {
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
        let (launches, left_out) = ladder.launches(rungs, problem, blocks, may_leave_out)?;
        match left_out.into_iter().next() {
            Some(error) if is_given && launches.is_empty() => Err(error.into()),
            _ => Ok(launches),
        }
    }

    /// Checks one problem after the other, so that only one is in memory.
    fn sweep(&self, device: &mut dyn Device, terminal: bool) -> Result<Sweep, Error> {
        let ladder = self.selected.ladder;
        let is_sim = device.info().kind == "sim";
        let checks = device.checks();
        let device_schedule = device.schedule();
        let effort = if is_sim { Effort::Quick } else { Effort::Full };
        let problems = self.problems.clone().unwrap_or_else(|| (ladder.sweep)(effort));
        let bar = progress_bar(problems.len(), terminal);
        let mut sweep = Sweep { schedules: self.schedules, ..Sweep::default() };
        for options in &problems {
            let problem = ladder.problem(options)?;
            bar.set_message(format!("{}, {}", ladder.name, problem.size()));
            let launches = self.launches(&*problem)?;
            let restorable = launches.iter().any(|(rung, _)| rung.in_place);
            let bytes: u64 = problem.buffers().iter().map(|buffer| buffer.bytes).sum();
            device.set_checks(if bytes <= self.most_bytes { checks } else { Checks::NONE });
            let mut session = Session::new(device, &*problem, restorable)?;
            for (rung, launch) in launches {
                if let Some(error) = session.check_supported(&launch) {
                    if !self.selected.whole {
                        return Err(error.into());
                    }
                    sweep.left_out.insert(error.to_string());
                    continue;
                }
                let verdict = |checked| match checked {
                    // A kernel that fails there has only its own memory to spoil.
                    Err(error @ engine::Error::Launch { .. }) if is_sim => Ok(Verdict::Wrong(error.to_string())),
                    checked => checked,
                };
                let mut result = verdict(session.check(rung, &launch))?;
                let mut schedule = (device_schedule != Schedule::Fixed).then(|| device_schedule.to_string());
                let findings = session.take_findings();
                let mut seeds = 1..=u64::from(self.schedules);
                while result.is_right()
                    && let Some(seed) = seeds.next()
                {
                    let random = Schedule::Random(seed);
                    if let Verdict::Wrong(why) = verdict(session.check_under(random, rung, &launch))? {
                        let again = again(ladder.name, rung, &launch, options);
                        let hint = format!("`{again} --schedule {random}` does it again");
                        result = Verdict::Wrong(format!("under the schedule {random}: {why}; {hint}"));
                        schedule = Some(random.to_string());
                    }
                }
                let verdict = result;
                let problem_size = problem.size();
                sweep.checks.push(Check {
                    ladder: ladder.name,
                    rung: rung.name,
                    correct: verdict.is_right(),
                    wrong: match verdict {
                        Verdict::Right => None,
                        Verdict::Wrong(why) => Some(format!("wrong: {launch} at {problem_size}: {why}")),
                    },
                    problem: problem_size,
                    column: problem.column(),
                    grid: launch.grid,
                    block: launch.block,
                    entry: launch.entry,
                    schedule,
                    findings,
                });
            }
            bar.inc(1);
        }
        device.set_checks(checks);
        bar.finish_and_clear();
        Ok(sweep)
    }
}

/// The command that checks this launch alone.
fn again(ladder: &str, rung: &Rung, launch: &Launch, options: &Options) -> String {
    let (options, block) = (options.command_line(), dims(launch.block));
    let options = if options.is_empty() { options } else { format!(" {options}") };
    format!("ladder check {ladder} --rung {}{options} --block {block} --device sim", rung.name)
}

/// The verdicts of one ladder over problems and blocks.
#[derive(Default)]
struct Sweep {
    checks: Vec<Check>,
    /// The kernels that the device does not support, with the reason. They were not asked for by name and are left
    /// out.
    left_out: BTreeSet<String>,
    /// How many random schedules each launch was run under besides.
    schedules: u32,
}

/// A launch, and whether its result was right: the record of it in JSON.
#[derive(Serialize)]
struct Check {
    ladder: &'static str,
    rung: &'static str,
    /// The problem: [`Problem::size`].
    problem: String,
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    /// Whether the result was right. A right one may have been luck: see the findings.
    correct: bool,
    /// The schedule under which it was wrong, or the only one under which it was launched, if it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// What the checks of the simulated device have found.
    findings: Vec<Finding>,
    /// The column that it belongs to: [`Problem::column`].
    #[serde(skip)]
    column: String,
    /// What was wrong, and where.
    #[serde(skip)]
    wrong: Option<String>,
}

impl Check {
    fn is_good(&self) -> bool {
        self.correct && self.findings.is_empty()
    }
}

impl Sweep {
    fn all_right(&self) -> bool {
        self.checks.iter().all(Check::is_good)
    }

    /// The findings at different places, each as it was first seen, and in how many checks.
    fn findings(&self) -> Vec<(&Finding, usize)> {
        let mut different: Vec<(&Finding, usize)> = Vec::new();
        for finding in self.checks.iter().flat_map(|check| &check.findings) {
            match different.iter_mut().find(|(known, _)| known.is_at_places_of(finding)) {
                Some((_, times)) => *times += 1,
                None => different.push((finding, 1)),
            }
        }
        different
    }

    /// A matrix of rungs and problems, and below it each check that was wrong.
    fn document(&self, selected: &Selection) -> Document {
        let ladder = selected.ladder;
        let mut columns: Vec<&str> = Vec::new();
        for check in &self.checks {
            if !columns.contains(&check.column.as_str()) {
                columns.push(&check.column);
            }
        }
        let headings = columns.iter().copied().map(Column::text);
        let mut table = Table::new([Column::name(ladder.name)].into_iter().chain(headings));
        for rung in selected.rungs() {
            let own = self.checks.iter().filter(|check| check.rung == rung.name);
            let own: Vec<&Check> = own.collect();
            if !own.is_empty() {
                let cells = columns.iter().map(|&column| cell(&own, column));
                table.row([rung.name.into()].into_iter().chain(cells));
            }
        }
        let mut document = Document::default();
        document.table(table);
        let blocks = self.checks.iter().map(|check| check.block);
        let blocks: BTreeSet<[u32; 3]> = blocks.collect();
        let blocks: Vec<String> = blocks.into_iter().map(dims).collect();
        let (count, blocks) = (self.checks.len(), blocks.join(", "));
        let schedules = match self.schedules {
            0 => String::new(),
            1 => ", each also under a random schedule".to_owned(),
            several => format!(", each also under {several} random schedules"),
        };
        document.note(format!("{count} checks, with blocks of {blocks}{schedules}"));
        for check in &self.checks {
            if let Some(wrong) = &check.wrong {
                document.note(wrong);
            }
            document.record(check);
        }
        for (finding, times) in self.findings() {
            let places = if times > 1 { format!(", in {times} of the checks") } else { String::new() };
            document.note(format!("{finding}{places}"));
        }
        for why in &self.left_out {
            document.note(format!("left out: {why}"));
        }
        document
    }
}

/// The result of a rung's checks in a column: no check, right, or the blocks with which it was wrong or had findings.
fn cell(checks: &[&Check], column: &str) -> Cell {
    let here = || checks.iter().filter(|check| check.column == column);
    let blocks = |is_meant: fn(&Check) -> bool| {
        let mut blocks: Vec<String> = here().filter(|check| is_meant(check)).map(|check| dims(check.block)).collect();
        blocks.dedup();
        blocks.join(", ")
    };
    match (blocks(|check| !check.correct), blocks(|check| !check.is_good())) {
        _ if here().count() == 0 => NOTHING.into(),
        (wrong, _) if !wrong.is_empty() => Cell::bad(format!("WRONG: {wrong}")),
        (_, found) if !found.is_empty() => Cell::bad(format!("right, but see below: {found}")),
        _ => Cell::good("right"),
    }
}
