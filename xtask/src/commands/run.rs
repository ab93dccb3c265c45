//! `cargo xtask run`.

use std::process::ExitCode;

use crate::cli::Run;
use crate::failure::Result;
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
    let own = options.args.iter().map(String::as_str);
    cargo::run_program("host", "ladder", ["run", "reduce"].into_iter().chain(own))
}
