//! `versus`: rungs against CUDA C++, CUB, cuBLAS and memcpy.

use std::ffi::OsString;
use std::io::{IsTerminal as _, stdout};
use std::process::{Command, ExitCode};
use std::time::Duration;

use benches::cuda_code::CudaCode;
use benches::failures::supervise;
use benches::versus::{self, Env};
use host::device::{self, Choice};
use host::{CATALOG, KERNELS, Provenance};

/// How long a process may take to end after a contestant has made the device unusable.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // The process that measures is started by the one that a person starts.
    if !args.iter().any(|arg| arg == "--failures") {
        let own = std::env::current_exe();
        return match own.and_then(|own| supervise(Command::new(own).args(args.iter().skip(1)), PATIENCE)) {
            Ok(status) => ExitCode::from(status.code().and_then(|code| code.try_into().ok()).unwrap_or(1)),
            Err(error) => {
                eprintln!("error: cannot start the process that measures: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let env = Env {
        catalog: &CATALOG,
        open: &|| device::open(Choice::Gpu, &KERNELS),
        cuda: &CudaCode::find,
        terminal: stdout().is_terminal(),
        provenance: &|device| Provenance::now(&KERNELS, device),
    };
    ExitCode::from(versus::main(args, &env, &mut anstream::stdout(), &mut anstream::stderr()))
}
