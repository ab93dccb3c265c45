//! `versus`: rungs against CUDA C++, CUB, cuBLAS and memcpy.

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;

use benches::opponents::Opponents;
use benches::versus::{self, Surroundings};
use host::device::{self, Choice};
use host::report::Setting;

fn main() -> ExitCode {
    let surroundings = Surroundings {
        open: &|| device::open(Choice::Gpu),
        opponents: &Opponents::find,
        terminal: stdout().is_terminal(),
        setting: &Setting::now,
    };
    let code = versus::main(
        std::env::args_os(),
        &surroundings,
        &mut anstream::stdout(),
        &mut anstream::stderr(),
    );
    ExitCode::from(code)
}
