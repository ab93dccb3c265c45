//! `agree`: the simulator's counters against Nsight Compute's.

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;

use host::agree::program::{self, Surroundings};
use host::agree::{Explain, Tools};
use host::device;
use host::profile::ncu::System;
use host::report::Setting;

fn main() -> ExitCode {
    let surroundings = Surroundings {
        open: &device::open,
        runner: &System,
        explain: &|capability| {
            let tools = Tools::find(capability)?;
            Ok(Box::new(tools) as Box<dyn Explain>)
        },
        terminal: stdout().is_terminal(),
        setting: &Setting::now,
    };
    let code = program::main(
        std::env::args_os(),
        &surroundings,
        &mut anstream::stdout(),
        &mut anstream::stderr(),
    );
    ExitCode::from(code)
}
