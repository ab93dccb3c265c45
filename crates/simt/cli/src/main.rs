//! The `simt` program: see [`simt_cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut out, mut err) = (anstream::stdout().lock(), anstream::stderr().lock());
    ExitCode::from(simt_cli::main(std::env::args_os(), &mut out, &mut err))
}
