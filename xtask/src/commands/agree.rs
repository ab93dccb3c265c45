//! `cargo xtask agree`.

use std::process::ExitCode;

use crate::cli::Agree;
use crate::failure::Result;
use crate::setup;
use crate::tools::cargo;

pub(super) fn run(options: &Agree) -> Result<ExitCode> {
    setup::device()?;
    cargo::run_program("host", "agree", options.args.iter().map(String::as_str))
}
