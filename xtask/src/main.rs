//! `cargo xtask`: tasks for developers of this repository that cargo does not provide.
//!
//! The program installs the required tools ([`install`]), reports the installed tools ([`doctor`]), runs all checks
//! ([`check`]), and writes the files of a new rung, ladder or project ([`new`]). Its other tasks start the workspace's
//! programs: `cargo xtask run` starts `ladder`, or `ladder run` if the arguments do not begin with a command of
//! `ladder`.
//!
//! The inputs are the command line and this repository's files; the output comes from other programs. The crate must
//! build from scratch in seconds, so it has few dependencies, and uses only `locate` and `nccl` of the workspace's
//! crates. No other crate depends on `xtask`, which treats rungs and ladders as text. The commands of `ladder` run and
//! show rungs and ladders.

mod arguments;
mod check;
mod console;
mod doctor;
mod gpu;
mod install;
mod new;
mod playground;
mod process;
mod samples;
mod sim;
mod site;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use arguments::Task;
use console::{Failure, Result, status};

fn main() -> ExitCode {
    let code = arguments::parse(std::env::args_os().skip(1))
        .and_then(|task| perform(&task))
        .unwrap_or_else(|failure| failure.report());
    if code != ExitCode::SUCCESS {
        process::report_full_disk();
    }
    code
}

/// Performs a task. The exit code is 0, or that of the last program that the task started.
fn perform(task: &Task) -> Result<ExitCode> {
    match task {
        Task::Help => print!("{}", arguments::HELP),
        Task::Setup { nvidia } => install::setup(*nvidia)?,
        Task::Doctor => print!("{}", doctor::report()),
        Task::Test { all } => check::run_all(*all)?,
        Task::Circles => check::circles()?,
        Task::NewRung { name, after } => new::rung(name, after)?,
        Task::NewLadder { name } => new::ladder(name)?,
        Task::NewProject { folder } => new::project(folder)?,
        Task::Ladder(arguments) => return ladder(arguments),
        Task::Lab(arguments) => return lab(arguments),
        Task::Book => {
            install::device()?;
            return process::run_program("book", "dev", &[]);
        }
        Task::Site { folder, is_for_tests } => {
            return site::build(folder.as_deref().map(Path::new), *is_for_tests);
        }
        Task::Sim(run) => return sim::run(run),
        Task::SimPath => println!("{}", sim::folder()?.display()),
        Task::Playground { folder, is_for_tests } => {
            playground::build(folder.as_deref().map(Path::new), *is_for_tests)?;
        }
        Task::Samples { checkout } => samples::run(Path::new(checkout))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn ladder(arguments: &[OsString]) -> Result<ExitCode> {
    install::device()?;
    // Machine code and the list's registers need NVIDIA's assembler; without it, `ladder` reports what it cannot show.
    let assembles = |rest: &[OsString]| rest.is_empty() || rest.iter().any(|word| word == "--sass" || word == "--json");
    if let Some((command, rest)) = arguments.split_first()
        && command == "ptx"
        && assembles(rest)
        && let Err(failure) = install::nvidia::install_if_missing()
    {
        status("Without", format_args!("NVIDIA's tools: {failure}"));
    }
    process::run_program("ladder", "dev", arguments)
}

fn lab(arguments: &[OsString]) -> Result<ExitCode> {
    let is_versus = arguments.first().is_some_and(|first| first == "versus");
    let only_help = arguments.iter().any(|word| word == "--help" || word == "-h");
    // Report a missing GPU before a build that takes minutes.
    if is_versus
        && !only_help
        && let Err(why) = gpu::driver().and_then(|driver| driver.gpus)
    {
        return Err(Failure::request(format!("`lab versus` needs a GPU: {why}"))
            .help("`cargo xtask run` runs the kernels on this CPU, with counters instead of times"));
    }
    install::device()?;
    process::run_program("lab", "release", arguments)
}
