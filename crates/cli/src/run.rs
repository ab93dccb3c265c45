//! `ladder run`: every rung checked against the CPU, timed or counted, and compared.

use std::path::PathBuf;

use analysis::document;
use clap::{ArgMatches, Args};
use engine::device::{Checks, Choice};
use engine::run::{self, Plan};
use engine::selection::Selection;

use crate::check::sanitize;
use crate::command::{Command, CommandArgs, Output};
use crate::env::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::output::{Format, Printer};
use crate::report;
use crate::targets::NAMES;
use simt::cli::complain;

/// Timed launches of each rung where no other number is asked for.
const RUNS: u32 = 20;

pub(crate) const RUN: Command = Command {
    name: "run",
    about: "Run ladders or rungs: check every rung against the CPU, time it or count what it does, and compare",
    arguments: |command, scope| {
        let command = CommandArgs::<Arguments>::arguments(command, scope);
        command.mut_arg("names", |arg| arg.help(NAMES))
    },
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// How many timed launches to take the median of; sim has no clock and counts one launch [default: 20, and
    /// none for ladders that are shown as pictures]
    #[arg(long, value_name = "K", conflicts_with = "no_time")]
    runs: Option<u32>,
    /// Check only: neither time nor count
    #[arg(long)]
    no_time: bool,
    /// What sim looks for besides wrong results: memory, init, race and sync with commas between them, or all
    #[arg(long, value_name = "CHECKS")]
    sanitize: Option<Checks>,
    #[command(flatten)]
    format: Format,
    /// Put each ladder's Markdown table between its two markers in a file
    #[arg(long, visible_alias = "update-doc", value_name = "PATH", conflicts_with_all = ["rung", "no_time"])]
    update_readme: Option<PathBuf>,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    if targets.is_empty() {
        let known: Vec<&str> = env.catalog.ladders.iter().map(|own| own.name).collect();
        return Err(Error::Request(format!(
            "name a ladder or a rung: the ladders are {}, `all` is every one, and `ladder list` has the rungs",
            known.join(", ")
        )));
    }
    if args.runs == Some(0) {
        let why = "0 runs measure nothing; --runs takes 1 or more, --no-time checks without timing";
        return Err(Error::Request(why.to_owned()));
    }
    let selected = targets.select(env.catalog)?;
    let plans = selected.iter().map(|own| own.plan(targets.block(), args.runs(own)));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    if let Some(readme) = &args.update_readme {
        for own in &selected {
            let ladder = own.ladder.name;
            if !own.whole {
                return Err(Error::PartOfATable { ladder });
            }
            document::check(readme, ladder)?;
        }
    }

    let mut device = (env.open)(args.device)?;
    sanitize(&mut *device, args.sanitize, Checks::NONE)?;
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    for (own, plan) in selected.iter().zip(plans) {
        let bar = progress_bar(plan.rungs().len(), env.terminal);
        let report = run::run(&mut *device, plan, |rung| {
            bar.set_message(rung.name);
            bar.inc(1);
        });
        bar.finish_and_clear();
        let report = report?;

        let provenance = (env.provenance)(&report.device);
        let shown = report::document(&report, &provenance);
        printer.show(&shown)?;
        let is_right = report.all_right();
        match &args.update_readme {
            Some(path) if is_right => document::update(path, own.ladder.name, &shown.markdown())?,
            Some(path) => {
                let path = path.display();
                complain(to.err, &format!("{path} is left as it was: a result is wrong"));
            }
            None => {}
        }
        if !is_right {
            code = WRONG;
        }
    }
    printer.finish()?;
    Ok(code)
}

impl Arguments {
    /// How many launches of each rung of a ladder to time.
    fn runs(&self, selected: &Selection) -> Option<u32> {
        match self.runs {
            _ if self.no_time => None,
            None if selected.ladder.shown.pictures => None,
            runs => Some(runs.unwrap_or(RUNS)),
        }
    }
}
