//! `versus`: rungs against CUDA C++, CUB, cuBLAS and memcpy.

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;

use benches::cuda_code::CudaCode;
use benches::versus::{self, Env};
use host::device::{self, Choice};
use host::{CATALOG, KERNELS, Provenance};

fn main() -> ExitCode {
    let env = Env {
        catalog: &CATALOG,
        open: &|| device::open(Choice::Gpu, &KERNELS),
        cuda: &CudaCode::find,
        terminal: stdout().is_terminal(),
        provenance: &|device| Provenance::now(&KERNELS, device),
    };
    let code = versus::main(std::env::args_os(), &env, &mut anstream::stdout(), &mut anstream::stderr());
    ExitCode::from(code)
}
