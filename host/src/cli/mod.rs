//! The `ladder` program, apart from its process: its arguments come in and its output goes out through
//! parameters, and so does the device.

mod args;
mod check;
mod checklist;
mod dram;
mod occupancy;
pub mod per_ladder;
mod predict;
pub(crate) mod profile;
mod show;

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use simt::cli::{complain, one_line};

use crate::device::{Choice, Device};
use crate::error::Error;
use crate::options::Options;
use crate::registry::Ladder;
use crate::report::{self, Look, Setting};
use crate::run::{self, Climb};
use args::{Command, Refused, Run};

/// Timed launches of each rung where no other number is asked for.
const RUNS: u32 = 20;

/// Exit code of a climb in which a result was wrong.
const WRONG: u8 = 1;

/// What the program finds around it.
pub struct Surroundings<'a> {
    /// Opens the device that is asked for.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, Error>,
    /// Whether a person reads the output on a terminal.
    pub terminal: bool,
}

/// Runs the program and gives its exit code: 0, 1 for a wrong result or a device that fails, 2 for what
/// cannot be done as asked. Errors are one line on `err`.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let executed = match args::parse(args) {
        Ok(command) => execute(command, surroundings, out, err),
        Err(Refused::ByUs(error)) => Err(error),
        Err(Refused::ByClap(error)) if error.kind() == DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(err, "{}", error.render().ansi());
            return 2;
        }
        Err(Refused::ByClap(error)) => return not_run(&error, "ladder --help", out, err),
    };
    ended(executed, out, err)
}

/// Tells what keeps a program from running, arguments that are wrong (`help` says what it takes) or a question for
/// help, and gives the exit code.
pub(crate) fn not_run(
    error: &clap::Error,
    help: &str,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    if error.use_stderr() {
        complain(err, &one_line(error, help));
        return 2;
    }
    // A reader that went away has seen what it wanted of the help.
    let _ = write!(out, "{}", error.render().ansi());
    0
}

/// The exit code of a program that has written to `out`; an error is told on `err`.
pub(crate) fn ended(executed: Result<u8, Error>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match executed.and_then(|code| Ok((code, out.flush()?))) {
        Ok((code, ())) => code,
        // `ladder list | head`: nobody is left to tell.
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            complain(err, &error.to_string());
            error.exit_code()
        }
    }
}

fn execute(
    command: Command,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    match command {
        Command::List(list) => show::list(&list, surroundings, out),
        Command::Devices(devices) => show::devices(devices.json, surroundings, out),
        Command::Run(ladder, options, run) => climb(ladder, &options, &run, surroundings, out, err),
        Command::Check(check) => check::check(&check, surroundings, out),
        Command::Predict(args) => predict::predict(&args, surroundings, out),
        Command::Occupancy(args) => occupancy::occupancy(&args, surroundings, out, err),
        Command::Dram(asked) => dram::dram(&asked, surroundings, out),
        Command::Checklist(asked) => checklist::checklist(&asked, surroundings, out),
        Command::Profile(args) => profile::profile(&args, surroundings, out),
    }
}

fn climb(
    ladder: &'static Ladder,
    options: &Options,
    args: &Run,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    let runs = match (args.no_time, args.runs) {
        (true, _) => None,
        (false, Some(0)) => return Err(Error::NoRuns),
        (false, None) if ladder.shown.pictures => None,
        (false, runs) => Some(runs.unwrap_or(RUNS)),
    };
    let plan = Climb {
        ladder,
        rungs: &args.rung,
        options,
        block: args.block,
        runs,
    }
    .plan()?;
    if let Some(readme) = &args.update_readme {
        report::readme::check(readme, ladder.name)?;
    }

    let mut device = (surroundings.open)(args.device)?;
    let bar = progress_bar(plan.rungs().len(), surroundings.terminal);
    let report = run::climb(&mut *device, &plan, |rung| {
        bar.set_message(rung.name);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let report = report?;

    let setting = Setting::now(&report.device);
    let look = Look {
        terminal: surroundings.terminal,
    };
    let text = if args.json {
        report::json(&report) + "\n"
    } else if args.markdown {
        report::markdown(&report, &setting)
    } else if ladder.shown.pictures {
        report::pictures(&report, &setting, look)
    } else {
        report::table(&report, &setting, look)
    };
    out.write_all(text.as_bytes())?;
    if !report.all_right() {
        if let Some(readme) = &args.update_readme {
            complain(
                err,
                &format!("{} is left as it was: a result is wrong", readme.display()),
            );
        }
        return Ok(WRONG);
    }
    if let Some(readme) = &args.update_readme {
        report::readme::update(readme, ladder.name, &report::markdown(&report, &setting))?;
    }
    Ok(0)
}

/// A bar on stderr, and only where a person sees it.
pub fn progress_bar(length: usize, terminal: bool) -> ProgressBar {
    if !terminal {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")
        .expect("the template has only fields that indicatif documents");
    ProgressBar::new(length as u64).with_style(style)
}
