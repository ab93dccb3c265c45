//! `cargo xtask versus`.

use std::process::ExitCode;

use crate::cli::Versus;
use crate::failure::{Failure, Result};
use crate::setup;
use crate::style::status;
use crate::tools::cargo;

pub(super) fn run(options: &Versus) -> Result<ExitCode> {
    setup::device()?;
    if std::env::var_os("NVCC").is_none() && toolkit::find(toolkit::Tool::Nvcc).is_err() {
        status(
            "Without",
            "nvcc: nothing of CUDA C++ is measured; `cargo xtask setup --nvidia` installs it",
        );
    }
    let mut command = cargo::cargo();
    command
        .args([
            "run",
            "--release",
            "--package",
            "benches",
            "--bin",
            "versus",
            "--",
        ])
        .args(&options.args);
    status("Running", format_args!("versus {}", options.args.join(" ")));
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    // The program has said what was wrong.
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
