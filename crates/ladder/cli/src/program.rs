//! A program of commands: its parser, its process, and its exit codes.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use analysis::agree::{Explain, Tools};
use analysis::profile::ncu::System;
use clap::ArgAction;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use comfy_table::Table;
use engine::device::has_abandoned_work;
use engine::names::did_you_mean;
use engine::{Catalog, Provenance};
use ranks::SharedLadder;
use signal_hook::consts::SIGINT;
use simt::run::{interruption, is_interrupted};
use simt_check::diagnostic::print_error;
use simt_cli::complain_about_arguments;

use crate::command::{Command, Env, INTERRUPTED, Output, Program};
use crate::error::Error;
use crate::isolated::{VARIABLE, send};
use crate::output::{Form, WIDTH};
use crate::targets::Scope;

/// The minimum width of text on a terminal.
const NARROWEST: usize = 80;

/// The display order of an option that the help lists after all others.
const LAST: usize = 900;

/// The name of the option that shows all columns of tables.
const WIDE: &str = "wide";

/// The end of the help of each program.
const EXIT_CODES: &str = "\
Exit codes: 0 success; 1 a wrong result, or a device, tool or file that failed; 2 a request that cannot be fulfilled; \
130 interrupted by Ctrl-C";

impl Program {
    fn all(&self) -> impl Iterator<Item = &'static Command> {
        self.commands.iter().chain(self.hidden).copied().flatten()
    }

    fn parser(&self, scope: &Scope) -> clap::Command {
        let subcommand = |command: &Command| {
            // `about` is set last, because adding the arguments replaces it with the documentation of their type.
            (command.arguments)(clap::Command::new(command.name), scope).about(command.about)
        };
        let shown = self.commands.iter().copied().flatten().map(subcommand);
        let hidden = self.hidden.iter().copied().flatten().map(|command| subcommand(command).hide(true));
        let wide = clap::Arg::new(WIDE).long(WIDE).global(true).display_order(LAST).action(ArgAction::SetTrue);
        let wide = wide.help("Show all columns of tables, however wide");
        clap::Command::new(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .about(self.about)
            .after_help(EXIT_CODES)
            .arg(wide)
            .disable_help_subcommand(true)
            .subcommand_required(self.without_arguments.is_none())
            .arg_required_else_help(self.without_arguments.is_none())
            .subcommands(shown)
            .subcommands(hidden)
    }
}

/// Runs a program in the environment of this process: its arguments, devices, tools and terminal.
pub fn run_process(catalog: &'static Catalog, shared: &'static [SharedLadder], program: &'static Program) -> ExitCode {
    end_on_interrupt();
    // The command line names this program's file, regardless of the path or name that started it.
    let command: Option<Vec<OsString>> = std::env::current_exe()
        .ok()
        .map(|program| std::iter::once(program.into()).chain(std::env::args_os().skip(1)).collect());
    let request = std::env::var(VARIABLE).ok();
    let env = Env {
        program,
        catalog,
        shared,
        open: &|choice| engine::device::open(choice, catalog.kernels),
        command: command.as_deref(),
        request: request.as_deref(),
        terminal: stdout().is_terminal(),
        form: Form::Text,
        width: Table::new().width().map_or(WIDTH, |width| usize::from(width).max(NARROWEST)),
        wide: false,
        runner: &System,
        explain: &|capability| {
            let tools = Tools::find(catalog.kernels, capability)?;
            Ok(Box::new(tools) as Box<dyn Explain>)
        },
        provenance: &|device| Provenance::now(catalog.kernels, device),
    };
    // anstream keeps colors on a terminal, strips them elsewhere, and respects NO_COLOR.
    let (mut out, mut err) = (anstream::stdout(), anstream::stderr());
    let code = main(std::env::args_os(), &env, &mut out, &mut err);
    if has_abandoned_work() && out.flush().is_ok() {
        signal_hook::low_level::exit(code.into());
    }
    ExitCode::from(code)
}

/// Makes the first Ctrl-C stop the current work cleanly. The second Ctrl-C ends the process.
fn end_on_interrupt() {
    let flag = interruption();
    let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), Arc::clone(&flag));
    let _ = signal_hook::flag::register(SIGINT, flag);
}

/// Runs the program and returns its exit code, its output and its messages, both without colors.
pub fn captured(args: &[String], env: &Env<'_>) -> (u8, String, String) {
    let [mut out, mut err] = [(); 2].map(|()| anstream::StripStream::new(Vec::new()));
    let args = [env.program.name].into_iter().chain(args.iter().map(String::as_str)).map(Into::into);
    let code = main(args, env, &mut out, &mut err);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (code, text(out.into_inner()), text(err.into_inner()))
}

/// Runs the program and returns its exit code, as listed in the help. Errors are lines on `err`, as [`print_error`] writes
/// them.
pub fn main(args: impl IntoIterator<Item = OsString>, env: &Env<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let scope = Scope::of(env.catalog, &args);
    let done = match env.program.parser(&scope).try_get_matches_from(&args) {
        Ok(matches) => execute(&matches, env, &mut Output { out, err }),
        Err(error) => Err(error.into()),
    };
    let done = match done {
        Err(Error::Arguments(error)) => refuse(&error, env.program, args.get(1), &scope, &mut Output { out, err }),
        done => done,
    };
    let done = done.and_then(|code| Ok((code, out.flush()?)));
    if is_interrupted() {
        if env.request.is_none() {
            print_error(err, "interrupted; note: the output shows all completed work");
        }
        return INTERRUPTED;
    }
    match done {
        Ok((code, ())) => code,
        // The reader closed the pipe, as in `ladder list | head`, so an error would not be read either.
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            if env.request.is_none() || send(Err::<(), _>(&error), out).is_err() {
                print_error(err, &error.to_string());
            }
            error.exit_code()
        }
    }
}

fn execute(matches: &clap::ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    env.catalog.kernels.check_readable()?;
    let env = &Env { wide: matches.get_flag(WIDE), ..*env };
    let Some((name, matches)) = matches.subcommand() else {
        let execute = env.program.without_arguments.expect("the parser requires a subcommand where this is missing");
        return execute(env, to);
    };
    let command = env.program.all().find(|command| command.name == name);
    (command.expect("every subcommand is one of the program's").execute)(matches, env, to)
}

/// Prints the requested help, or reports an error in the arguments with the nearest names. Returns the exit code.
///
/// # Errors
/// Returns an error when the help cannot be written.
fn refuse(
    error: &clap::Error,
    program: &Program,
    command: Option<&OsString>,
    scope: &Scope,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    if !error.use_stderr() {
        write!(to.out, "{}", error.render().ansi())?;
        return Ok(0);
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let command = program.all().find(|subcommand| command.is_some_and(|name| *name == *subcommand.name));
    let help = match command {
        Some(command) => format!("{} {} --help", program.name, command.name),
        None => format!("{} --help", program.name),
    };
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(to.err, "{}", error.render().ansi());
        }
        // clap suggests the subcommands of a command.
        ErrorKind::InvalidSubcommand if command.is_none() => {
            let name = text(ContextKind::InvalidSubcommand);
            let known: Vec<&str> = program.commands.iter().copied().flatten().map(|command| command.name).collect();
            let is_named = scope.catalog.ladders.iter().any(|ladder| ladder.name == name || ladder.has(&name));
            let hint = match is_named && known.contains(&"run") {
                true => format!("did you mean `{} run {name}`?", program.name),
                false => did_you_mean(&name, "commands", &known),
            };
            print_error(to.err, &format!("unrecognized subcommand '{name}'; {hint}"));
        }
        ErrorKind::UnknownArgument => {
            let similar = match &*text(ContextKind::SuggestedArg) {
                "" => String::new(),
                similar => format!("; a similar argument exists: '{similar}'"),
            };
            let (name, hint) = (text(ContextKind::InvalidArg), scope.hint());
            let message =
                format!("unexpected argument '{name}' found; note: {hint}{similar}; `{help}` shows the arguments");
            print_error(to.err, &message);
        }
        _ => complain_about_arguments(to.err, error, &help),
    }
    Ok(2)
}
