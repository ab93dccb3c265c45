//! `cargo xtask test`: runs the checks of the repository, each with an ordinary tool. When a step fails, the other
//! steps still run. A summary at the end names the failed steps.

mod circles;
mod dependencies;
mod packages;
mod source;
mod targets;

use std::process::Command;
use std::time::{Duration, Instant};

use crate::console::{Failure, Result, status};
use crate::install;
use crate::process::{cargo, output, root, run_checked};

/// The tests that have `test = false` in their manifests, because they build whole projects or assemble all kernels.
const LONG_TESTS: &str = "--test assembled --test device_builds --test new --test page --test predict --test project --test site --test upstream";

/// Runs all checks. The long tests run only when `all` is set.
///
/// # Errors
/// Returns a failure that names each failed step.
pub(crate) fn run_all(all: bool) -> Result<()> {
    let mut steps = Steps::default();
    steps.run("setup", setup);
    steps.run("formatting", formatting);
    steps.run("circles", circles);
    steps.run("dependencies", dependencies::check);
    steps.cargo("lints", "clippy --workspace --all-targets -- -D warnings");
    steps.cargo("documents", "doc --workspace --no-deps");
    steps.cargo("tests", "test --workspace --no-fail-fast");
    if all {
        steps.cargo("lints of long tests", &format!("clippy --workspace {LONG_TESTS} -- -D warnings"));
        steps.cargo("long tests", &format!("test --workspace --no-fail-fast {LONG_TESTS}"));
        steps.run("packages", packages::check);
        steps.run("other systems", targets::check);
        steps.run("the simulator on aarch64", targets::emulate);
    } else {
        status("Skipping", "long tests: `cargo xtask test --all` runs them");
    }
    steps.summary()
}

/// The finished steps, each with its time and its result.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration, Result<()>)>);

impl Steps {
    fn run(&mut self, name: &'static str, check: impl FnOnce() -> Result<()>) {
        status("Checking", name);
        let start = Instant::now();
        let result = check();
        self.0.push((name, start.elapsed(), result));
    }

    fn cargo(&mut self, name: &'static str, arguments: &str) {
        self.run(name, || {
            status("Running", format_args!("cargo {arguments}"));
            let mut cargo = cargo();
            cargo.args(arguments.split_whitespace()).env("RUSTDOCFLAGS", "-Dwarnings");
            run_checked(cargo.current_dir(root()))
        });
    }

    fn summary(&self) -> Result<()> {
        let times = self.0.iter().map(|(name, time, _)| format!("{name} {:.1} s", time.as_secs_f64()));
        status("Finished", times.collect::<Vec<_>>().join(", "));
        let failed = self.0.iter().filter_map(|(name, _, result)| Some((name, result.as_ref().err()?)));
        let failed: Vec<_> = failed.map(|(name, failure)| format!("{name}: {failure}")).collect();
        if failed.is_empty() { Ok(()) } else { Err(Failure::new(failed.join("\n"))) }
    }
}

/// Installs the tools that the tests need. Without Chromium, the tests of pages are skipped.
fn setup() -> Result<()> {
    install::device()?;
    if let Err(failure) = install::chromium::install_if_missing() {
        status("Skipping", format_args!("tests of pages: {failure}"));
    }
    install::nvidia::install_if_missing().map(drop)
}

/// Checks the formatting of all files, including files that no `mod` declares.
fn formatting() -> Result<()> {
    let files = output(Command::new("git").args(["ls-files", "*.rs"]).current_dir(root()))?;
    run_checked(Command::new("rustfmt").arg("--check").args(files.lines()).current_dir(root()))
        .map_err(|failure| failure.help("to format all files, run `git ls-files '*.rs' | xargs rustfmt`"))
}

/// Checks each crate of the workspace for import cycles.
///
/// # Errors
/// Returns a failure with a source line for each import of a cycle.
pub(crate) fn circles() -> Result<()> {
    let found = circles::in_workspace(&root())?;
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(found.join("\n"))
        .help("move the shared code into a module that imports none of these modules, or pass it as an argument"))
}

#[cfg(test)]
mod tests {
    use super::{Failure, Steps};

    #[test]
    fn steps_after_a_failure_still_run() {
        let mut steps = Steps::default();
        steps.run("formatting", || Err(Failure::new("a").help("b")));
        let mut ran = false;
        steps.run("tests", || {
            ran = true;
            Ok(())
        });
        assert!(ran);
        steps.run("documents", || Err(Failure::new("c")));
        let failure = steps.summary().expect_err("two steps failed");
        assert_eq!((failure.code, &*failure.message), (1, "formatting: a\nhelp: b\ndocuments: c"));
    }
}
