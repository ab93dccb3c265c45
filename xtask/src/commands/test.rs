//! `cargo xtask test`.

use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::setup;
use crate::style::status;
use crate::tools::cargo::cargo;
use crate::tools::nvidia;

/// What is checked, in order: a name, cargo's arguments, and the environment for it.
type Step = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const STEPS: [Step; 4] = [
    ("formatting", &["fmt", "--all", "--check"], &[]),
    (
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    ),
    (
        "docs",
        &["doc", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-Dwarnings")],
    ),
    ("tests", &["test", "--workspace"], &[]),
];

pub(super) fn test() -> Result<()> {
    let start = Instant::now();
    setup::device()?;
    nvidia::need(nvidia::INSTALLED)?;
    let mut times = vec![format!("setup {}", seconds(start.elapsed()))];
    for (name, arguments, environment) in STEPS {
        status(
            "Checking",
            format_args!("{name}: cargo {}", arguments.join(" ")),
        );
        let step = Instant::now();
        let result = cargo()
            .args(arguments)
            .envs(environment.iter().copied())
            .status()
            .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
        let time = seconds(step.elapsed());
        if !result.success() {
            return Err(Failure::new(format!(
                "{name} failed ({result}) after {time}"
            )));
        }
        status("Passed", format_args!("{name} in {time}"));
        times.push(format!("{name} {time}"));
    }
    status(
        "All passed",
        format_args!("in {}: {}", seconds(start.elapsed()), times.join(", ")),
    );
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
