//! The output of cargo's checks: it is passed on as it comes, and failures are collected from it.

use std::io::{BufRead, BufReader, IsTerminal, PipeReader, stdout};
use std::process::{Child, Command};
use std::time::Duration;

use super::compile::UNDOCUMENTED;
use crate::console::{Failure, Result};

/// The result of a run of cargo.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) success: bool,
    /// Whether it was stopped by the compiler, and not by a lint or a test.
    pub(super) does_not_compile: bool,
    /// How many tests passed.
    pub(super) passed: usize,
    /// The targets that clippy has found something in, as cargo names them.
    linted: Vec<String>,
    /// The crates whose documents rustdoc has found something in.
    undocumented: Vec<String>,
    /// The tests of the target whose output is being read that failed.
    current: Vec<String>,
    /// The targets whose tests failed: the arguments of cargo that run one again, and the failed tests.
    targets: Vec<(String, Vec<String>)>,
    /// How long each program of tests took, with the arguments of cargo that run it again.
    pub(super) times: Vec<(Duration, String)>,
}

impl Outcome {
    /// The targets that have lints and the crates that lack documents, each with the advice.
    pub(super) fn findings(&self) -> Vec<String> {
        let lints =
            |target| format!("lints: {target}: clippy says above what it found; `cargo clippy --fix` mends some of it");
        let documents = |krate| format!("documents: {krate}: rustdoc says above what it found");
        self.linted.iter().map(lints).chain(self.undocumented.iter().map(documents)).collect()
    }

    /// The targets that failed, as the command that runs each again, with its failed tests below.
    pub(super) fn failures(&self) -> Vec<String> {
        let failure = |(target, tests): &(String, Vec<String>)| match &tests[..] {
            [] => format!("cargo test {target} (ended without a result)"),
            tests => format!("cargo test {target}\n  {}", tests.join("\n  ")),
        };
        self.targets.iter().map(failure).collect()
    }

    /// The result of a program that has printed nothing yet.
    pub(super) fn of(success: bool) -> Self {
        Self { success, ..Self::default() }
    }

    /// Adds what another run had for a result.
    pub(super) fn add(&mut self, other: Self) {
        self.success &= other.success;
        self.passed += other.passed;
        self.targets.extend(other.targets);
        self.times.extend(other.times);
    }

    /// Reads a line without colours.
    pub(super) fn read(&mut self, line: &str) {
        let line = line.trim();
        let failed = line.strip_suffix(" ... FAILED").and_then(|line| line.strip_prefix("test "));
        if let Some(test) = failed {
            self.current.push(test.to_owned());
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            let passed = counts
                .split_once(". ")
                .and_then(|(_, counts)| counts.split_once(" passed"))
                .and_then(|(passed, _)| passed.parse::<usize>().ok());
            self.passed += passed.unwrap_or(0);
        } else if let Some((_, target)) = line
            .strip_prefix("error: ")
            .filter(|line| line.contains("test failed,"))
            .and_then(|line| line.split_once("pass `"))
        {
            // error: test failed, to rerun pass `-p host --test devices`
            let target = target.trim_end_matches('`').to_owned();
            self.targets.push((target, std::mem::take(&mut self.current)));
        } else if let Some((target, _)) =
            line.strip_prefix("warning: `").and_then(|line| line.split_once(" generated "))
        {
            // warning: `host` (lib) generated 2 warnings
            self.linted.push(format!("`{target}"));
        } else if let Some(krate) = line.strip_prefix(UNDOCUMENTED) {
            self.undocumented.push(krate.to_owned());
        } else if line.starts_with("error: could not compile")
            || line.starts_with("error: failed to run custom build command")
        {
            self.does_not_compile = true;
        }
    }
}

/// The error of a program that cannot be run.
pub(super) fn failure(error: std::io::Error) -> Failure {
    Failure::new(format!("cannot run cargo or a test: {error}"))
}

/// Starts a program. Both of its streams go through one pipe, so that their lines stay in order.
pub(super) fn spawn(command: &mut Command) -> Result<(PipeReader, Child)> {
    let (reader, writer) = std::io::pipe().map_err(failure)?;
    command.stdout(writer.try_clone().map_err(failure)?).stderr(writer);
    let child = command.spawn().map_err(failure)?;
    // The command holds the writing end of the pipe, and reading ends when that is closed.
    let program = command.get_program().to_owned();
    *command = Command::new(program);
    Ok((reader, child))
}

/// Runs cargo and reads what it prints; `each` has every line as it comes, and without colours.
pub(super) fn follow(command: &mut Command, mut each: impl FnMut(&[u8], &str)) -> Result<Outcome> {
    if stdout().is_terminal() && std::env::var_os("CARGO_TERM_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let (reader, mut child) = spawn(command)?;
    let mut outcome = Outcome::default();
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).map_err(failure)? > 0 {
        let line = plain(&String::from_utf8_lossy(&bytes));
        each(&bytes, &line);
        outcome.read(&line);
        bytes.clear();
    }
    outcome.success = child.wait().map_err(failure)?.success();
    Ok(outcome)
}

/// The text without ANSI escape sequences for colours.
pub(super) fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Outcome, follow, plain};
    use std::process::Command;

    fn read(text: &str) -> Outcome {
        let mut outcome = Outcome::default();
        text.lines().for_each(|line| outcome.read(&plain(line)));
        outcome
    }

    #[test]
    fn failed_tests_are_listed_below_their_target() {
        let outcome = read(
            "\
     Running unittests src/lib.rs (target/debug/deps/a-1)
test one ... ok
test two ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
\x1b[1m\x1b[91merror\x1b[0m: test failed, to rerun pass `-p a --lib`
test three ... ok
test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
error: test failed, to rerun pass `-p b --test crashes`
error: doctest failed, to rerun pass `-p c --doc`
error: 3 targets failed:
    `-p a --lib`
",
        );
        assert_eq!(outcome.passed, 13);
        assert!(!outcome.does_not_compile);
        assert_eq!(
            outcome.failures(),
            [
                "cargo test -p a --lib\n  two",
                "cargo test -p b --test crashes (ended without a result)",
                "cargo test -p c --doc (ended without a result)",
            ]
        );
    }

    #[test]
    fn lints_and_documents_are_listed() {
        let outcome = read(
            "\
warning: this `if` has identical blocks
warning: \x1b[0m`cli` (lib test) generated 2 warnings (1 duplicate) (run `cargo clippy --fix`)
error: unresolved link to `Wrap`
error: could not document `cli`
warning: host@0.1.0: said by a build script
",
        );
        assert!(!outcome.does_not_compile && outcome.failures().is_empty());
        let findings = outcome.findings();
        let [lints, documents] = &findings[..] else { panic!("{findings:?}") };
        assert!(lints.starts_with("lints: `cli` (lib test): "), "{lints}");
        assert!(documents.starts_with("documents: `cli`: "), "{documents}");
    }

    #[test]
    fn the_compiler_is_told_from_lints_and_tests() {
        let error = "error[E0425]: cannot find value `x` in this scope";
        assert!(read(&format!("{error}\nerror: could not compile `a` (lib) due to 1 previous error")).does_not_compile);
        assert!(!read(error).does_not_compile, "a test in a document");
        assert!(read("error: failed to run custom build command for `host v0.1.0`").does_not_compile);
        assert!(!read("error: this `if` has identical blocks").does_not_compile);
    }

    #[cfg(unix)]
    #[test]
    fn both_streams_are_read_to_the_end() {
        let mut command = Command::new("sh");
        let mut passed_on = Vec::new();
        let script = "echo 'test a ... FAILED'; echo 'error: test failed, to rerun pass `--lib`' >&2; exit 3";
        let outcome =
            follow(command.args(["-c", script]), |bytes, _| passed_on.extend(bytes)).expect("there is a shell");
        assert!(!outcome.success);
        assert_eq!(outcome.failures(), ["cargo test --lib\n  a"]);
        assert_eq!(String::from_utf8_lossy(&passed_on).lines().count(), 2);
    }
}
