//! `ladder`: runs ladders of GPU kernels, checks them, times them and explains their speed.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run_process(&host::CATALOG, host::SHARED_LADDERS, &cli::LADDER)
}
