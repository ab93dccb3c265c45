//! `cargo xtask test`: all checks of the repository, in steps. When a step fails, the others still run; the failures
//! are summed up at the end.

mod circles;
mod dependencies;
mod output;
mod source;

use std::ffi::OsString;
use std::io::stdout;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::console::{Failure, Result, status};
use crate::install;
use crate::process::{cargo, root};
use output::Outcome;

/// A run of cargo that checks something.
struct Step {
    name: &'static str,
    /// The arguments of cargo, with blanks between them.
    arguments: &'static str,
    /// Whether it documents, and takes over what clippy has checked.
    documents: bool,
    /// The advice if it fails.
    remedy: &'static str,
}

const FORMATTING: Step = Step {
    name: "formatting",
    arguments: "fmt --all --check",
    documents: false,
    remedy: "`cargo fmt` formats everything",
};

/// The steps that compile, in order. The tests come last, because the reader looks for their output.
const COMPILED: [Step; 4] = [
    Step {
        name: "lints",
        arguments: "clippy --workspace --all-targets -- -D warnings",
        documents: false,
        remedy: "clippy says above what it found; `cargo clippy --fix` mends some of it",
    },
    // Documenting the examples too makes cargo choose the features of the other steps: the dependencies and the kernels
    // are then not compiled again. With all programs it would warn of those that are named as their crate's library.
    Step {
        name: "docs",
        arguments: "doc --workspace --no-deps --lib --examples --bin xtask --bin ladder --bin versus",
        documents: true,
        remedy: "rustdoc says above what it found",
    },
    // Those that projects outside this repository use, from what the steps before have loaded.
    Step {
        name: "packages",
        arguments: "package --offline --quiet --no-verify --allow-dirty -p cuda_std -p cuda_std_macros -p cuda_builder \
                    -p ladder-locate -p ladder-devices -p ladder-driver -p ladder-libcuda -p cust_core -p find_cuda_helper -p ladder-ptx -p simt-ptx -p simt_test",
        documents: false,
        remedy: "cargo says above what a crate lacks that others are to use",
    },
    Step { name: "tests", arguments: "test --workspace --no-fail-fast", documents: false, remedy: "" },
];

/// The result of a step.
struct Report {
    name: &'static str,
    time: Duration,
    /// The failures, one per line, with the advice.
    failed: Result<(), Vec<String>>,
}

/// Runs all checks.
pub(crate) fn everything() -> Result<()> {
    let start = Instant::now();
    install::device()?;
    let tools = install::nvidia::install_if_missing();
    let mut reports = vec![Report {
        name: "setup",
        time: start.elapsed(),
        failed: tools.map_err(|failure| vec![failure.to_string()]),
    }];
    let mut formatting = run(&FORMATTING)?.0;
    if let (Ok(()), Err(lines)) = (&formatting.failed, format_of_kernels()) {
        formatting.failed = Err(lines);
    }
    reports.push(formatting);
    reports.push(own("circles", "the imports between each crate's modules", circles));
    reports.push(own("dependencies", "licences, sources, versions and advisories", dependencies::check));
    let mut passed = 0;
    for step in &COMPILED {
        let (report, outcome) = run(step)?;
        passed += outcome.passed;
        reports.push(report);
        if outcome.does_not_compile {
            // The other steps would report the same error again.
            break;
        }
    }
    summary(&reports, passed, start.elapsed())
}

/// Runs a check of this program's own.
fn own(name: &'static str, what: &str, check: fn() -> Result<()>) -> Report {
    status("Checking", format_args!("{name}: {what}"));
    let time = Instant::now();
    let failed = check().map_err(|failure| vec![failure.to_string()]);
    Report { name, time: time.elapsed(), failed }
}

/// Whether the files of rungs are formatted. `cargo fmt` does not find them, because the macro `rungs!` declares them.
fn format_of_kernels() -> std::result::Result<(), Vec<String>> {
    let entries_of = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let all = entries_of(&root().join("kernels-gpu/src")).into_iter();
    let files = all.filter(|path| path.is_dir()).flat_map(|folder| entries_of(&folder));
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let formatted =
        Command::new("rustfmt").args(["--edition", "2024", "--check"]).args(files).current_dir(root()).status();
    match formatted {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(vec!["`rustfmt --edition 2024 kernels-gpu/src/*/*.rs` formats the kernels".to_owned()]),
        Err(error) => Err(vec![format!("rustfmt cannot be started: {error}")]),
    }
}

/// Runs the check for import circles over each crate of the workspace.
/// Fails when there are circles, with a source line for each of their imports.
pub(crate) fn circles() -> Result<()> {
    let found = circles::in_workspace(&root())?;
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(found.join("\n"))
        .hint("move what both modules need into a module that neither imports, or pass it as an argument"))
}

fn run(step: &Step) -> Result<(Report, Outcome)> {
    let Step { name, arguments, .. } = step;
    status("Checking", format_args!("{name}: cargo {arguments}"));
    let time = Instant::now();
    let mut command = cargo();
    command.current_dir(root()).args(arguments.split(' '));
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // Many tests wait for the compilers that they have started.
        let cores = available_parallelism().map_or(1, usize::from);
        command.env("RUST_TEST_THREADS", (2 * cores).to_string());
    }
    if step.documents {
        command.env("RUSTDOCFLAGS", "-Dwarnings").envs(clippys_environment().into_iter().flatten());
    }
    let outcome = output::follow(&mut command, &mut stdout())?;
    let mut failed = outcome.failures();
    if !outcome.success && failed.is_empty() {
        failed.push(match outcome.does_not_compile {
            true => "the code does not compile: the compiler says above why".to_owned(),
            false => step.remedy.to_owned(),
        });
    }
    let report = Report {
        name,
        time: time.elapsed(),
        failed: match outcome.success {
            true => Ok(()),
            false => Err(failed),
        },
    };
    Ok((report, outcome))
}

/// What `cargo clippy -- -D warnings` sets for the cargo below it. With it, rustdoc is given what clippy has checked of the
/// workspace; cargo would check it again for a compiler without a wrapper, which takes longer than the documents.
fn clippys_environment() -> Option<[(&'static str, OsString); 2]> {
    let sysroot = crate::process::output(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
    let name = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let driver = Path::new(sysroot.trim()).join("bin").join(name);
    let arguments = ["-D", "warnings", ""].join("__CLIPPY_HACKERY__");
    Some([("RUSTC_WORKSPACE_WRAPPER", driver.into()), ("CLIPPY_ARGS", arguments.into())])
}

fn summary(reports: &[Report], passed: usize, whole: Duration) -> Result<()> {
    let time = |report: &Report| format!("{} {}", report.name, seconds(report.time));
    let times: Vec<String> = reports.iter().map(time).collect();
    let line = format!("in {}: {}", seconds(whole), times.join(", "));
    let failure = |own: &'_ Report| Some((own.name, own.failed.clone().err()?));
    let failed: Vec<_> = reports.iter().filter_map(failure).collect();
    if failed.is_empty() {
        status("All passed", format_args!("{line}; {passed} tests"));
        return Ok(());
    }
    status("Done", line);
    let mut message = String::new();
    for (name, lines) in failed {
        message.push_str(&format!("{name} failed"));
        for line in lines {
            message.push_str(&format!("\n  {}", line.replace('\n', "\n  ")));
        }
        message.push('\n');
    }
    let not_run = COMPILED.iter().filter(|step| !reports.iter().any(|report| report.name == step.name));
    for step in not_run {
        message.push_str(&format!("{} not run\n", step.name));
    }
    Err(Failure::new(message.trim_end()))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Report, summary};

    fn report(name: &'static str, failed: Result<(), Vec<String>>) -> Report {
        let time = Duration::from_millis(1500);
        Report { name, time, failed }
    }

    #[test]
    fn the_summary_has_everything_that_failed() {
        let fine = [report("formatting", Ok(())), report("lints", Ok(()))];
        assert!(summary(&fine, 3, Duration::from_secs(3)).is_ok());
        let [formatting, tests] = ["`cargo fmt` formats everything", "cargo test -p host --lib\n  a\n  b"];
        let reports = [
            report("formatting", Err(vec![formatting.to_owned()])),
            report("lints", Ok(())),
            report("tests", Err(vec![tests.to_owned()])),
        ];
        let failure = summary(&reports, 3, Duration::from_secs(3)).expect_err("two failed");
        assert_eq!(failure.code, 1);
        assert_eq!(
            failure.message,
            "\
formatting failed
  `cargo fmt` formats everything
tests failed
  cargo test -p host --lib
    a
    b
docs not run
packages not run"
        );
    }
}
