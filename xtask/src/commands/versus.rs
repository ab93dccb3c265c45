//! `cargo xtask versus`.

use std::process::ExitCode;

use crate::cli::Versus;
use crate::failure::Result;
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
    cargo::run_program("benches", "versus", options.args.iter().map(String::as_str))
}
