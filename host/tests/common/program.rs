//! The program, run on a device of the test's or by itself.

use std::process::Command;

use super::Fake;
use analysis::profile::ncu::System;
use cli::Env;
use host::{CATALOG, Device, Error, KERNELS, Provenance};

/// What it left behind.
pub struct Ended {
    pub code: u8,
    pub out: String,
    pub err: String,
}

/// Runs the program on a device of the test's.
pub fn on(device: impl Fn() -> Fake, args: &[&str]) -> Ended {
    let open = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(device())) };
    let env = Env {
        catalog: &CATALOG,
        open: &open,
        terminal: false,
        runner: &System,
        explain: &|_| Err(vec!["no tools in this test".to_owned()]),
        provenance: &|device| Provenance::now(&KERNELS, device),
    };
    let (mut out, mut err) = (
        anstream::StripStream::new(Vec::new()),
        anstream::StripStream::new(Vec::new()),
    );
    let args = ["ladder"].iter().chain(args).map(Into::into);
    let code = cli::main(args, &env, &mut out, &mut err);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended {
        code,
        out: text(out.into_inner()),
        err: text(err.into_inner()),
    }
}

pub fn right() -> Fake {
    Fake::new(None)
}

/// Runs the program itself, on a machine without a driver.
pub fn alone(args: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(args)
        .env(libcuda::OVERRIDE, "no/such/libcuda.so")
        .output()
        .unwrap();
    Ended {
        code: u8::try_from(output.status.code().unwrap()).unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
