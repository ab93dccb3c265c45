//! `cargo xtask run`.

use std::process::ExitCode;

use crate::cli::Run;
use crate::failure::{Failure, Result};
use crate::setup;
use crate::style::status;
use crate::tools::{cargo, gpu};

pub(super) fn run(options: &Run) -> Result<ExitCode> {
    setup::device()?;
    if !gpu::driver().is_some_and(|driver| driver.may_run()) {
        status(
            "Without",
            "a GPU: the kernels' PTX runs on the SIMT machine, on this CPU, counted instead of timed",
        );
    }
    let mut command = cargo::cargo();
    command
        .args([
            "run",
            "--release",
            "--package",
            "host",
            "--bin",
            "ladder",
            "--",
            "run",
            "reduce",
        ])
        .args(&options.args);
    status(
        "Running",
        format_args!("ladder run reduce {}", options.args.join(" ")),
    );
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    // The program has said what was wrong.
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
