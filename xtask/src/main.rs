//! `cargo xtask`: the tasks that a developer of this repository needs besides cargo.
//!
//! It sets a machine up ([`install`]), reports what is installed on it ([`doctor`]), runs all checks ([`check`]), and
//! writes the files of a new rung, ladder or project ([`new`]). Its other tasks start the workspace's own programs: `cargo
//! xtask run` is `ladder`, and a ladder's or a rung's name alone means `ladder run`.
//!
//! The input is the command line and this repository's files; the output are runs of other programs. It has to build
//! from scratch in seconds, so it uses hardly any crate and, of the workspace's, only `locate`; no crate uses it. It
//! knows rungs and ladders only as text to write; running or showing them is a command of `ladder`.

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

/// Does a task. The exit code is 0, or that of the program that the task started last.
fn perform(task: &Task) -> Result<ExitCode> {
    match task {
        Task::Help => print!("{}", arguments::HELP),
        Task::Setup { nvidia } => install::setup(*nvidia)?,
        Task::Doctor => print!("{}", doctor::report()),
        Task::Test { all } => check::everything(*all)?,
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
    // Machine code and the list's registers take NVIDIA's assembler; `ladder` says what it cannot show without.
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
    // Reported now, before minutes of building.
    if is_versus
        && !only_help
        && let Err(why) = gpu::driver().and_then(|driver| driver.gpus)
    {
        return Err(Failure::request(format!("`lab versus` measures on a GPU, and there is none here: {why}"))
            .help("`cargo xtask run` runs the kernels on this CPU, counted instead of timed"));
    }
    install::device()?;
    process::run_program("lab", "release", arguments)
}
