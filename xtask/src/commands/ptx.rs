//! `cargo xtask ptx`.

use std::process::ExitCode;

use crate::cli::Ptx;
use crate::failure::Result;
use crate::setup;
use crate::tools::cargo;

pub(super) fn run(options: &Ptx) -> Result<ExitCode> {
    setup::device()?;
    let own = options.args.iter().map(String::as_str);
    cargo::run_program("host", "ladder", ["ptx"].into_iter().chain(own))
}
