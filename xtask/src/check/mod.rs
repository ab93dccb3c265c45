//! `cargo xtask test`: the checks of the repository, in steps. When a step fails, the others still run; the failures
//! are summed up at the end.

mod circles;
mod compile;
mod dependencies;
mod output;
mod programs;
mod source;

use std::ffi::OsString;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::console::{Failure, Result, status};
use crate::install;
use crate::process::{cargo, root};
use output::Outcome;
pub(crate) use programs::Extent;

/// A run of cargo that checks something.
struct Step {
    name: &'static str,
    /// The arguments of cargo, with blanks between them.
    arguments: &'static str,
    work: Work,
    /// The advice if it fails.
    remedy: &'static str,
}

/// What is special about a step.
#[derive(PartialEq, Eq)]
enum Work {
    Simple,
    /// It compiles, with lints and documents.
    Compiling,
    /// It compiles what is left, which is examples, and runs the tests.
    Testing,
}

/// How many programs of tests the summary names with their times.
const SLOWEST: usize = 12;

const FORMATTING: Step = Step {
    name: "formatting",
    arguments: "fmt --all --check",
    work: Work::Simple,
    remedy: "`cargo fmt` formats everything",
};

/// The steps that compile, in order. The tests come last, because the reader looks for their output.
const COMPILED: [Step; 3] = [
    Step {
        name: "compiling",
        arguments: "test --workspace --tests --benches --no-run",
        work: Work::Compiling,
        remedy: "cargo says above why",
    },
    // Those that projects outside this repository use. Not offline: the registry is asked for crates that the patches replace
    // here, which a new machine has not loaded.
    Step {
        name: "packages",
        arguments: "package --quiet --no-verify --allow-dirty -p cuda_std -p cuda_std_macros -p cuda_builder \
                    -p ladder-locate -p ladder-devices -p ladder-driver -p ladder-libcuda -p cust_core -p find_cuda_helper -p ladder-ptx -p simt-ptx -p simt_test",
        work: Work::Simple,
        remedy: "cargo says above what a crate lacks that others are to use",
    },
    Step { name: "tests", arguments: "test --workspace --no-fail-fast", work: Work::Testing, remedy: "" },
];

/// The result of a step.
struct Report {
    name: &'static str,
    time: Duration,
    /// The failures, one per line, with the advice.
    failed: Result<(), Vec<String>>,
}

impl Report {
    fn lines(&self) -> &[String] {
        self.failed.as_ref().err().map_or(&[], Vec::as_slice)
    }
}

/// Runs all checks, with the usual tests or all of them.
pub(crate) fn everything(extent: Extent) -> Result<()> {
    let start = Instant::now();
    install::device()?;
    let tools = install::nvidia::install_if_missing();
    // Those who have no Debian, or no root, test all else.
    if let Err(failure) = install::chromium::install_if_missing() {
        status("Skipping", format_args!("tests of pages: {failure}"));
    }
    let mut reports = vec![Report {
        name: "setup",
        time: start.elapsed(),
        failed: tools.map_err(|failure| vec![failure.to_string()]),
    }];
    let mut formatting = run(&FORMATTING, Path::new(""), extent, &[])?.0;
    if let (Ok(()), Err(lines)) = (&formatting.failed, format_of_exercises()) {
        formatting.failed = Err(lines);
    }
    reports.push(formatting);
    reports.push(own("circles", "the imports between each crate's modules", circles));
    reports.push(own("dependencies", "licences, sources, versions and advisories", dependencies::check));
    let (mut passed, mut times) = (0, Vec::new());
    let compiler = own_copy()?;
    for step in &COMPILED {
        let (report, outcome) = run(step, &compiler, extent, &reports)?;
        passed += outcome.passed;
        times.extend(outcome.times);
        reports.push(report);
        if outcome.does_not_compile {
            // The other steps would report the same error again.
            break;
        }
    }
    status("Longest", slowest(times));
    if extent == Extent::Usual {
        status(
            "Left out",
            "tests that build whole projects or assemble all kernels: `cargo xtask test --all` runs them too, as CI does",
        );
    }
    summary(&reports, passed, start.elapsed())
}

/// The programs of tests that took longest, for who wants to shorten the whole.
fn slowest(mut times: Vec<(Duration, String)>) -> String {
    times.sort_by(|a, b| b.cmp(a));
    let longest = times.iter().take(SLOWEST).map(|(time, target)| format!("{} {target}", seconds(*time)));
    longest.collect::<Vec<_>>().join(", ")
}

/// Runs a check of this program's own.
fn own(name: &'static str, what: &str, check: fn() -> Result<()>) -> Report {
    status("Checking", format_args!("{name}: {what}"));
    let time = Instant::now();
    let failed = check().map_err(|failure| vec![failure.to_string()]);
    Report { name, time: time.elapsed(), failed }
}

/// Whether the exercises are formatted. `cargo fmt` does not find them, because no `mod` declares them.
fn format_of_exercises() -> std::result::Result<(), Vec<String>> {
    let entries_of = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let folders = ["exercises", "crates/ladder/learn/solutions"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| entries_of(folder));
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let formatted =
        Command::new("rustfmt").args(["--edition", "2024", "--check"]).args(files).current_dir(root()).status();
    match formatted {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(vec![
            "`rustfmt --edition 2024 exercises/*.rs crates/ladder/learn/solutions/*.rs` formats the exercises"
                .to_owned(),
        ]),
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

/// As the program that cargo starts in place of the compiler or of a test, when the arguments say that it is one.
pub(crate) fn for_cargo(arguments: &[OsString]) -> Option<ExitCode> {
    let (first, rest) = arguments.split_first()?;
    if first == programs::RUNNER {
        return Some(programs::run_later(rest));
    }
    let is_compiler = Path::new(first).file_stem().is_some_and(|name| name == "rustc");
    is_compiler.then(|| compile::unit(arguments))
}

/// A copy of this program that stays what it is while cargo writes this one anew.
fn own_copy() -> Result<PathBuf> {
    let program = std::env::current_exe().map_err(|error| Failure::new(format!("this program is gone: {error}")))?;
    let folder = locate::target_dir().unwrap_or_else(|| root().join("target")).join("check");
    let [copy, unfinished] = ["xtask", "xtask.new"].map(|name| folder.join(name));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::copy(&program, &unfinished))
        .and_then(|_| std::fs::rename(&unfinished, &copy))
        .map_err(|error| Failure::file("write", &copy, &error))?;
    Ok(copy)
}

/// Runs a step. Cargo repeats in later steps what lints and rustdoc said in `earlier` ones.
fn run(step: &Step, compiler: &Path, extent: Extent, earlier: &[Report]) -> Result<(Report, Outcome)> {
    let Step { name, arguments, work, .. } = step;
    status("Checking", format_args!("{name}: cargo {arguments}"));
    let time = Instant::now();
    let mut command = cargo();
    command.current_dir(root()).args(arguments.split(' '));
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // Many tests wait for the compilers that they have started.
        let cores = available_parallelism().map_or(1, usize::from);
        command.env("RUST_TEST_THREADS", (2 * cores).to_string());
    }
    if *work != Work::Simple {
        command.env("RUSTC_WORKSPACE_WRAPPER", compiler).env(compile::WANTED, "1");
        // Nobody edits and compiles again what is compiled here, or steps through it with a debugger.
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    let outcome = match work {
        Work::Testing => programs::run(&mut command, compiler, extent)?,
        Work::Simple | Work::Compiling => output::follow(&mut command, pass_on)?,
    };
    let known = |line: &String| earlier.iter().any(|report| report.lines().contains(line));
    let findings = outcome.findings().into_iter().filter(|line| !known(line));
    let mut failed: Vec<String> = findings.chain(outcome.failures()).collect();
    if outcome.does_not_compile {
        failed.push("the code does not compile: the compiler says above why".to_owned());
    } else if !outcome.success && failed.is_empty() {
        failed.push(step.remedy.to_owned());
    }
    let failed = if failed.is_empty() { Ok(()) } else { Err(failed) };
    Ok((Report { name, time: time.elapsed(), failed }, outcome))
}

fn pass_on(bytes: &[u8], _: &str) {
    // The reader of our output may be gone; the checks go on.
    let _ = stdout().write_all(bytes);
}

fn summary(reports: &[Report], passed: usize, whole: Duration) -> Result<()> {
    let time = |report: &Report| format!("{} {}", report.name, seconds(report.time));
    let times: Vec<String> = reports.iter().map(time).collect();
    let line = format!("in {}: {}", seconds(whole), times.join(", "));
    let failed: Vec<_> = reports.iter().filter(|report| report.failed.is_err()).collect();
    if failed.is_empty() {
        status("All passed", format_args!("{line}; {passed} tests"));
        return Ok(());
    }
    status("Done", line);
    let mut message = String::new();
    for report in failed {
        message.push_str(&format!("{} failed", report.name));
        for line in report.lines() {
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
        let fine = [report("formatting", Ok(())), report("compiling", Ok(()))];
        assert!(summary(&fine, 3, Duration::from_secs(3)).is_ok());
        let [formatting, tests] = ["`cargo fmt` formats everything", "cargo test -p host --lib\n  a\n  b"];
        let reports = [
            report("formatting", Err(vec![formatting.to_owned()])),
            report("compiling", Ok(())),
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
packages not run"
        );
    }
}
