//! The tasks themselves.

mod agree;
mod doctor;
mod ptx;
mod run;
mod setup;
mod test;
mod versus;

use std::process::ExitCode;

use crate::cli::Task;
use crate::failure::Result;

/// Does a task. The exit code is 0, or that of the program that the task ended in.
///
/// # Errors
/// What went wrong, with the exit code for it.
pub fn perform(task: &Task) -> Result<ExitCode> {
    match task {
        Task::Setup(options) => setup::setup(options)?,
        Task::Doctor => doctor::doctor(),
        Task::Ptx(options) => return ptx::run(options),
        Task::Run(options) => return run::run(options),
        Task::Versus(options) => return versus::run(options),
        Task::Agree(options) => return agree::run(options),
        Task::Test => test::test()?,
    }
    Ok(ExitCode::SUCCESS)
}
