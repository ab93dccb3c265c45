//! The commands of the program `ladder`: its arguments, what each command shows, and its exit codes.
//!
//! What flows in: a command line and [what is around the program](Env), with the ladders. What flows out: text on two
//! writers and an exit code. This crate alone knows how results are shown and what an exit code means; it must not
//! know which ladders there are.

mod agree;
mod args;
mod check;
mod checklist;
mod dram;
mod error;
mod occupancy;
pub mod per_ladder;
mod predict;
mod profile;
mod ptx;
mod report;
mod show;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write, stdout};
use std::process::ExitCode;

use analysis::agree::{Explain, Tools};
use analysis::profile::ncu::{Runner, System};

use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use simt::cli::{complain, one_line};

pub use crate::error::Error;
use analysis::document;
use args::{Command, Refused, Run};
use engine::device::{Choice, Device, DeviceInfo};
use engine::options::Options;
use engine::registry::Ladder;
use engine::run::{self, Climb};
use engine::{Catalog, Provenance};
use report::OutputStyle;
pub use report::regime;

/// Timed launches of each rung where no other number is asked for.
const RUNS: u32 = 20;

/// Exit code of a climb in which a result was wrong.
const WRONG: u8 = 1;

/// What the program finds around it.
pub struct Env<'a> {
    /// The ladders, and their kernels.
    pub catalog: &'static Catalog,
    /// Opens the device that is asked for.
    pub open: &'a dyn Fn(Choice) -> Result<Box<dyn Device>, engine::Error>,
    /// Whether a person reads the output on a terminal.
    pub terminal: bool,
    /// Starts Nsight Compute.
    pub runner: &'a dyn Runner,
    /// Finds what explains differences between the simulator and a GPU.
    pub explain: &'a FindExplain<'a>,
    /// The day, and the compilers for a device.
    pub provenance: &'a dyn Fn(&DeviceInfo) -> Provenance,
}

/// Finds what explains differences on a GPU of this compute capability; otherwise what is missing for that, each with
/// how to get it.
pub type FindExplain<'a> = dyn Fn(Option<(u32, u32)>) -> Result<Box<dyn Explain>, Vec<String>> + 'a;

/// Runs the program `ladder` with what this process finds around it: its arguments, devices, tools and terminal.
pub fn run_process(catalog: &'static Catalog) -> ExitCode {
    let env = Env {
        catalog,
        open: &|choice| engine::device::open(choice, catalog.kernels),
        terminal: stdout().is_terminal(),
        runner: &System,
        explain: &|capability| {
            let tools = Tools::find(catalog.kernels, capability)?;
            Ok(Box::new(tools) as Box<dyn Explain>)
        },
        provenance: &|device| Provenance::now(catalog.kernels, device),
    };
    // anstream keeps colours where a terminal shows them and strips them elsewhere; it knows NO_COLOR.
    let code = main(
        std::env::args_os(),
        &env,
        &mut anstream::stdout(),
        &mut anstream::stderr(),
    );
    ExitCode::from(code)
}

/// Runs the program and gives its exit code: 0, 1 for a wrong result or a device that fails, 2 for what
/// cannot be done as asked. Errors are one line on `err`.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    env: &Env<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let executed = match args::parse(env.catalog, args) {
        Ok(command) => execute(command, env, out, err),
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
pub fn not_run(error: &clap::Error, help: &str, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
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
    env: &Env<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    match command {
        Command::Agree(args) => agree::agree(&args, env, out),
        Command::List(list) => show::list(&list, env, out),
        Command::Devices(devices) => show::devices(devices.json, env, out),
        Command::Run(ladder, options, run) => climb(ladder, &options, &run, env, out, err),
        Command::Check(check) => check::check(&check, env, out),
        Command::Predict(args) => predict::predict(&args, env, out),
        Command::Occupancy(args) => occupancy::occupancy(&args, env, out, err),
        Command::Dram(asked) => dram::dram(&asked, env, out),
        Command::Checklist(asked) => checklist::checklist(&asked, env, out),
        Command::Profile(args) => profile::profile(&args, env, out),
        Command::Ptx(args) => ptx::ptx(&args, env, out, err),
    }
}

fn climb(
    ladder: &'static Ladder,
    options: &Options,
    args: &Run,
    env: &Env<'_>,
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
        document::check(readme, ladder.name)?;
    }

    let mut device = (env.open)(args.device)?;
    let bar = progress_bar(plan.rungs().len(), env.terminal);
    let report = run::climb(&mut *device, plan, |rung| {
        bar.set_message(rung.name);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let report = report?;

    let provenance = (env.provenance)(&report.device);
    let style = OutputStyle {
        terminal: env.terminal,
    };
    let text = if args.json {
        report::json(&report) + "\n"
    } else if args.markdown {
        report::markdown(&report, &provenance)
    } else if ladder.shown.pictures {
        report::pictures(&report, &provenance, style)
    } else {
        report::table(&report, &provenance, style)
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
        document::update(readme, ladder.name, &report::markdown(&report, &provenance))?;
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
