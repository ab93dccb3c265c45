//! The program, run on a device of the test's or by itself.

use std::process::Command;

use super::Fake;
use analysis::profile::ncu::System;
use cli::Env;
use host::device::Choice;
use host::{Device, Error, Provenance};

/// The ladders that have an option, as messages list them.
pub fn with_option(option: &str) -> String {
    let all = host::CATALOG.ladders.iter();
    let with = all.filter(|ladder| ladder.options.iter().any(|own| own.name == option));
    with.map(|ladder| ladder.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// What it left behind.
pub struct Ended {
    pub code: u8,
    pub out: String,
    pub err: String,
}

/// A machine without a terminal and without NVIDIA's tools.
pub fn env(open: &dyn Fn(Choice) -> Result<Box<dyn Device>, Error>) -> Env<'_> {
    Env {
        catalog: &host::CATALOG,
        open,
        terminal: false,
        runner: &System,
        explain: &|_| Err(vec!["no ptxas was found".to_owned()]),
        provenance: &|device| Provenance::now(&host::KERNELS, device),
    }
}

/// Runs the program in this process.
pub fn within(env: &Env<'_>, args: &[&str]) -> Ended {
    let (mut out, mut err) = (
        anstream::StripStream::new(Vec::new()),
        anstream::StripStream::new(Vec::new()),
    );
    let args = ["ladder"].iter().chain(args).map(Into::into);
    let code = cli::main(args, env, &mut out, &mut err);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended {
        code,
        out: text(out.into_inner()),
        err: text(err.into_inner()),
    }
}

/// Runs the program on a device of the test's.
pub fn on(device: impl Fn() -> Fake, args: &[&str]) -> Ended {
    within(&env(&|_| Ok(Box::new(device()))), args)
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
