//! `ladder`: climbs ladders of GPU kernels.

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;

use host::cli::{self, Surroundings};
use host::device;

fn main() -> ExitCode {
    let surroundings = Surroundings {
        open: &device::open,
        terminal: stdout().is_terminal(),
    };
    // anstream keeps colours where a terminal shows them and strips them elsewhere; it knows NO_COLOR.
    let code = cli::main(
        std::env::args_os(),
        &surroundings,
        &mut anstream::stdout(),
        &mut anstream::stderr(),
    );
    ExitCode::from(code)
}
