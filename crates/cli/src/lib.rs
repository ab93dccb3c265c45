//! The commands of the program `ladder`: its arguments, what each command shows, and its exit codes.
//!
//! The input is a command line and the [environment of the program](Env), with the ladders. The output is text on two
//! writers, and an exit code. Only this crate knows how results are shown and what an exit code means; it must not
//! know which ladders exist.
//!
//! Each command is a module with a `Command` in the list `COMMANDS`. Commands parse their arguments with `targets` and
//! show their results with `output`.

mod agree;
mod charts;
mod check;
mod checklist;
mod command;
mod dram;
mod env;
mod error;
mod explain;
mod html_report;
mod launch;
mod learn;
pub mod list;
mod mutate;
mod occupancy;
pub mod output;
mod pitfalls;
mod predict;
mod profile;
mod ptx;
pub mod report;
mod roofline;
mod run;
mod scaling;
mod several;
mod source_files;
pub mod targets;
mod timing;
mod workers;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use analysis::agree::{Explain, Tools};
use analysis::profile::ncu::System;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use engine::device::has_abandoned_work;
use engine::names::did_you_mean;
use engine::{Catalog, Provenance};
use ranks::SharedLadder;
use signal_hook::consts::SIGINT;
use simt::cli::{complain, one_line};
use simt::run::{interruption, is_interrupted};

use command::{Command, Output};
use env::INTERRUPTED;
use targets::Scope;

pub use env::{Env, FindExplain, progress_bar};
pub use error::Error;
pub use report::regime;

/// What `ladder` can be asked for.
const COMMANDS: &[Command] = &[
    list::LIST,
    run::RUN,
    launch::LAUNCH,
    scaling::SCALING,
    check::CHECK,
    profile::PROFILE,
    predict::PREDICT,
    occupancy::OCCUPANCY,
    explain::EXPLAIN,
    roofline::ROOFLINE,
    html_report::REPORT,
    learn::LEARN,
    dram::DRAM,
    agree::AGREE,
    checklist::CHECKLIST,
    pitfalls::PITFALLS,
    mutate::MUTATE,
    ptx::PTX,
    list::DEVICES,
];

/// Runs the program `ladder` in the environment of this process: its arguments, devices, tools and terminal.
pub fn run_process(catalog: &'static Catalog, shared: &'static [SharedLadder]) -> ExitCode {
    end_on_interrupt();
    // The arguments are those of this program, wherever it lies and however it was called.
    let command: Option<Vec<OsString>> = std::env::current_exe()
        .ok()
        .map(|program| std::iter::once(program.into()).chain(std::env::args_os().skip(1)).collect());
    let env = Env {
        catalog,
        shared,
        open: &|choice| engine::device::open(choice, catalog.kernels),
        command: command.as_deref(),
        terminal: stdout().is_terminal(),
        runner: &System,
        explain: &|capability| {
            let tools = Tools::find(catalog.kernels, capability)?;
            Ok(Box::new(tools) as Box<dyn Explain>)
        },
        provenance: &|device| Provenance::now(catalog.kernels, device),
    };
    // anstream keeps colours where a terminal shows them and strips them elsewhere; it knows NO_COLOR.
    let (mut out, mut err) = (anstream::stdout(), anstream::stderr());
    let code = main(std::env::args_os(), &env, &mut out, &mut err);
    if has_abandoned_work() && out.flush().is_ok() {
        signal_hook::low_level::exit(code.into());
    }
    ExitCode::from(code)
}

/// Lets Ctrl-C end what runs, in order, and a second one the process. Without a handler, the first does that.
fn end_on_interrupt() {
    let flag = interruption();
    let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), Arc::clone(&flag));
    let _ = signal_hook::flag::register(SIGINT, flag);
}

/// Runs the program with what it writes kept: its exit code, its output without colours, and its messages.
pub fn captured(args: &[String], env: &Env<'_>) -> (u8, String, String) {
    let [mut out, mut err] = [(); 2].map(|()| anstream::StripStream::new(Vec::new()));
    let args = ["ladder"].into_iter().chain(args.iter().map(String::as_str)).map(Into::into);
    let code = main(args, env, &mut out, &mut err);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (code, text(out.into_inner()), text(err.into_inner()))
}

/// Runs the program and returns its exit code: 0 for success, 1 for a wrong result or a failure of a device, 2 for a
/// request that cannot be fulfilled, 130 for a run that somebody ended. Errors are one line on `err`.
pub fn main(args: impl IntoIterator<Item = OsString>, env: &Env<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let scope = Scope::of(env.catalog, &args);
    let done = match program(&scope).try_get_matches_from(&args) {
        Ok(matches) => {
            let (name, matches) = matches.subcommand().expect("a subcommand is required");
            let command = COMMANDS.iter().find(|command| command.name == name);
            let command = command.expect("every subcommand is one of COMMANDS");
            let readable = env.catalog.kernels.check_readable().map_err(Error::from);
            readable.and_then(|()| (command.execute)(matches, env, &mut Output { out, err }))
        }
        Err(error) => Err(error.into()),
    };
    let done = done.and_then(|code| Ok((code, out.flush()?)));
    if is_interrupted() {
        complain(err, "interrupted: what is shown is all that was done");
        return INTERRUPTED;
    }
    match done {
        Ok((code, ())) => code,
        // The reader closed the pipe, as in `ladder list | head`, so there is nobody to report to.
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(Error::Arguments(error)) => refuse(&error, args.get(1), &scope, out, err),
        Err(error) => {
            complain(err, &error.to_string());
            error.exit_code()
        }
    }
}

fn program(scope: &Scope) -> clap::Command {
    let subcommands = COMMANDS.iter().map(|command| {
        // Last, for arguments bring the documentation of their type.
        (command.arguments)(clap::Command::new(command.name), scope).about(command.about)
    });
    clap::Command::new("ladder")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs ladders of GPU kernels: each rung computes the same thing, a little faster, and teaches why")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(subcommands)
}

/// Reports an error in the arguments in one line with the nearest names, or prints the help that was asked for.
/// Returns the exit code.
fn refuse(
    error: &clap::Error,
    command: Option<&OsString>,
    scope: &Scope,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let line = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(err, "{}", error.render().ansi());
            return 2;
        }
        // clap suggests the subcommands of a command.
        ErrorKind::InvalidSubcommand if command.is_some_and(|own| *own == *text(ContextKind::InvalidSubcommand)) => {
            let name = text(ContextKind::InvalidSubcommand);
            let known: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
            let hint = did_you_mean(&name, "commands", &known);
            format!("unrecognized subcommand '{name}'; {hint}")
        }
        ErrorKind::UnknownArgument => {
            let similar = match &*text(ContextKind::SuggestedArg) {
                "" => String::new(),
                similar => format!("a similar argument exists: '{similar}'; "),
            };
            let (name, hint) = (text(ContextKind::InvalidArg), scope.hint());
            format!("unexpected argument '{name}' found; {similar}{hint}; `--help` says more")
        }
        _ => return not_run(error, "ladder --help", out, err),
    };
    complain(err, &line);
    2
}

/// Reports the error that keeps a program from running (for wrong arguments with the hint `help`), or prints the help
/// that was asked for. Returns the exit code.
pub fn not_run(error: &clap::Error, help: &str, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    if error.use_stderr() {
        complain(err, &one_line(error, help));
        return 2;
    }
    // The reader closed the pipe, so it has read all that it wanted.
    let _ = write!(out, "{}", error.render().ansi());
    0
}
