//! `cargo xtask agree`.

use std::process::ExitCode;

use crate::cli::Agree;
use crate::failure::{Failure, Result};
use crate::setup;
use crate::style::status;
use crate::tools::cargo;

pub(super) fn run(options: &Agree) -> Result<ExitCode> {
    setup::device()?;
    let mut command = cargo::cargo();
    command
        .args([
            "run",
            "--release",
            "--package",
            "host",
            "--bin",
            "agree",
            "--",
        ])
        .args(&options.args);
    status("Running", format_args!("agree {}", options.args.join(" ")));
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    // The program has said what was wrong.
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
