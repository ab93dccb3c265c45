//! `ladder check`: checks rungs × problems × blocks, with one launch of each.

use std::collections::BTreeSet;

use clap::{ArgMatches, Args};
use engine::device::{Choice, Device};
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
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let selected = targets.select(env.catalog)?;
    let plans = selected.iter().map(|own| Plan::new(own, &targets.blocks));
    let plans: Vec<Plan<'_>> = plans.collect::<Result<_, _>>()?;

    let mut device = (env.open)(args.device)?;
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

/// The checks of one ladder. The request is validated before a device is opened.
struct Plan<'a> {
    selected: &'a Selection,
    blocks: &'a [[u32; 3]],
    /// The problems that were given; `None` stands for the ladder's own sweep.
    problems: Option<Vec<Options>>,
}

impl<'a> Plan<'a> {
    fn new(selected: &'a Selection, blocks: &'a [[u32; 3]]) -> Result<Self, Error> {
        let problems = selected.combinations()?;
        let plan = Self { selected, blocks, problems };
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
        let effort = match device.info().kind {
            "sim" => Effort::Quick,
            _ => Effort::Full,
        };
        let problems = self.problems.clone().unwrap_or_else(|| (ladder.sweep)(effort));
        let bar = progress_bar(problems.len(), terminal);
        let mut sweep = Sweep::default();
        for options in &problems {
            let problem = ladder.problem(options)?;
            bar.set_message(format!("{}, {}", ladder.name, problem.size()));
            let launches = self.launches(&*problem)?;
            let restorable = launches.iter().any(|(rung, _)| rung.in_place);
            let mut session = Session::new(device, &*problem, restorable)?;
            for (rung, launch) in launches {
                if let Some(error) = session.check_supported(&launch) {
                    if !self.selected.whole {
                        return Err(error.into());
                    }
                    sweep.left_out.insert(error.to_string());
                    continue;
                }
                let verdict = session.check(rung, &launch)?;
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
                });
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(sweep)
    }
}

/// The verdicts of one ladder over problems and blocks.
#[derive(Default)]
struct Sweep {
    checks: Vec<Check>,
    /// The kernels that the device does not support, with the reason. They were not asked for by name and are left
    /// out.
    left_out: BTreeSet<String>,
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
    correct: bool,
    /// The column that it belongs to: [`Problem::column`].
    #[serde(skip)]
    column: String,
    /// What was wrong, and where.
    #[serde(skip)]
    wrong: Option<String>,
}

impl Sweep {
    fn all_right(&self) -> bool {
        self.checks.iter().all(|check| check.correct)
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
        document.note(format!("{count} checks, with blocks of {blocks}"));
        for check in &self.checks {
            if let Some(wrong) = &check.wrong {
                document.note(wrong);
            }
            document.record(check);
        }
        for why in &self.left_out {
            document.note(format!("left out: {why}"));
        }
        document
    }
}

/// The result of a rung's checks in a column: no check, right, or the blocks with which it was wrong.
fn cell(checks: &[&Check], column: &str) -> Cell {
    let here = || checks.iter().filter(|check| check.column == column);
    let wrong = here().filter(|check| !check.correct);
    let mut blocks: Vec<String> = wrong.map(|check| dims(check.block)).collect();
    blocks.dedup();
    match (here().count(), blocks.is_empty()) {
        (0, _) => NOTHING.into(),
        (_, true) => Cell::good("right"),
        (_, false) => Cell::bad(format!("WRONG: {}", blocks.join(", "))),
    }
}
