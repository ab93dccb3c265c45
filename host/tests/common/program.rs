//! Runs the program on a test's device or as a separate process.

use std::ffi::OsStr;
use std::process::{Command, Output};

use super::Fake;
use crate::stand_in::DRIVER;
use analysis::profile::ncu::System;
use cli::output::{Form, WIDTH};
use cli::{Env, LADDER};
use host::device::Choice;
use host::{Device, Error, Provenance};
use lab::LAB;
use serde_json::Value;
use toolkit::Tool;

/// Returns a provenance with a made-up date.
pub fn provenance(toolchain: &str) -> Provenance {
    Provenance { date: "2026-04-01".into(), toolchain: toolchain.into() }
}

/// The program's exit code and its output.
#[derive(Debug)]
pub struct Ended {
    pub code: u8,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn of(output: Output) -> Self {
        Self {
            code: u8::try_from(output.status.code().unwrap()).unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the output, after checking that the program ended with this code and reported no error.
    #[track_caller]
    pub fn ended_with(self, code: u8) -> String {
        assert_eq!((self.code, &*self.err), (code, ""), "{}", self.out);
        self.out
    }

    /// Returns the output, after checking that the program succeeded.
    #[track_caller]
    pub fn printed(self) -> String {
        self.ended_with(0)
    }

    /// Returns the printed JSON, after checking that the program succeeded.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.printed()).unwrap()
    }

    /// Checks that the program refused bad input with an error that contains `part`, and printed nothing else.
    #[track_caller]
    pub fn refused(self, part: &str) {
        let Self { code, out, err } = self;
        assert_eq!((code, &*out), (2, ""), "{err}");
        let mut notes = err.lines().skip(1);
        assert!(notes.all(|line| ["note: ", "help: "].iter().any(|label| line.starts_with(label))), "{err}");
        assert!(err.starts_with("error: ") && err.contains(part), "{part}: {err}");
    }
}

/// Checks that a text contains all of these parts.
#[track_caller]
pub fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// Returns the environment of a machine without a terminal and without NVIDIA's tools.
pub fn env(open: &dyn Fn(Choice) -> Result<Box<dyn Device>, Error>) -> Env<'_> {
    Env {
        program: &LADDER,
        catalog: &host::CATALOG,
        shared: host::SHARED_LADDERS,
        open,
        command: None,
        request: None,
        terminal: false,
        form: Form::Text,
        width: WIDTH,
        wide: false,
        runner: &System,
        explain: &|_| Err(vec!["no ptxas was found".to_owned()]),
        provenance: &|_| provenance("some compilers"),
    }
}

/// Runs a program in this process: `lab` if that is the first word, and otherwise `ladder`.
pub fn run_in(env: &Env<'_>, args: &str) -> Ended {
    let (program, args) = args.strip_prefix("lab ").map_or((env.program, args), |args| (&LAB, args));
    let args: Vec<String> = args.split_whitespace().map(Into::into).collect();
    let (code, out, err) = cli::captured(&args, &Env { program, ..*env });
    Ended { code, out, err }
}

/// Runs the program on a test's device.
pub fn on(device: impl Fn() -> Fake, args: &str) -> Ended {
    run_in(&env(&|_| Ok(Box::new(device()))), args)
}

/// Runs the program, which must not open a device.
pub fn without_device(args: &str) -> Ended {
    run_in(&env(&|_| panic!("the program must not open a device")), args)
}

pub fn right() -> Fake {
    Fake::new(None)
}

/// Returns the command for a process of the program, with this file in place of the CUDA driver.
pub fn command(driver: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.env(libcuda::OVERRIDE, driver).env_remove(libcuda::CHOICE);
    command
}

/// Runs the program in a process without a CUDA driver.
pub fn run_without_driver(args: &str) -> Ended {
    let mut command = command("no/such/libcuda.so");
    Ended::of(command.args(args.split_whitespace()).output().unwrap())
}

/// Runs the program in a process with the stand-in for the driver, an H100 on which each kernel uses 40 registers.
/// `stand_in/driver.rs` lists its faults.
pub fn on_driver(fault: &str, args: &str) -> Ended {
    let mut command = command(&*DRIVER);
    command.env("LADDER_STAND_IN", fault);
    Ended::of(command.args(args.split_whitespace()).output().unwrap())
}

/// Returns whether a tool of NVIDIA's is installed. Without the tool, a test that needs it passes, except in CI, where
/// `cargo xtask setup --nvidia` installs the tools first.
pub fn has(tool: Tool) -> bool {
    let found = toolkit::find(tool);
    if let Err(error) = &found {
        not_tested(&error.to_string());
    }
    found.is_ok()
}

/// Prints why a test did not run. In CI, that is a failure.
pub fn not_tested(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("not tested: {why}");
}
