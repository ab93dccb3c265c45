//! `lab`: the program for Ladder's maintainers.

use std::process::ExitCode;

use cli::Program;

static LAB: Program = Program { commands: &[lab::COMMANDS, &[benches::versus::VERSUS]], ..lab::LAB };

fn main() -> ExitCode {
    cli::run_process(&host::CATALOG, host::SHARED_LADDERS, &LAB)
}
