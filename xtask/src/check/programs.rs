//! Runs the programs that cargo has built of tests, beside each other: as many as there are cores.
//!
//! Cargo runs one after the other, and while a test waits, or has a compiler for one core only, the other core idles. So
//! cargo is given a runner that runs nothing: it prints what cargo told it, which is the program, its folder and its
//! environment, and ends. Cargo goes on to the tests in documents, and the programs run here meanwhile.

use std::ffi::OsString;
use std::io::{Read, Write, stdout};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex};
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use super::compile::WANTED;
use super::output::{self, Outcome, failure, plain};
use crate::console::{Result, status};
use crate::process::exit_code;

/// The argument that makes this program the runner. What is to be run comes behind it.
pub(super) const RUNNER: &str = "run-later";

/// The first character of a line of the runner.
const START: char = '\u{1e}';
/// What separates the parts of the line: the folder, the program with its arguments, the variables.
const PART: &str = "\u{1d}";
/// What separates the words of a part.
const WORD: &str = "\u{1f}";
/// Stands for a line's end within a word.
const LINE_END: &str = "\u{1c}";

/// As the runner: prints how a program is to be run. A test in a document, which rustdoc has built, is run at once.
pub(super) fn run_later(program: &[OsString]) -> ExitCode {
    let Some((path, arguments)) = program.split_first() else {
        return ExitCode::FAILURE;
    };
    let folder = Path::new(path).parent();
    if !folder.is_some_and(|folder| ["deps", "examples"].iter().any(|name| folder.ends_with(name))) {
        // The variable is rustdoc's own, which it forgets for a runner.
        let mut command = Command::new(path);
        return command
            .args(arguments)
            .env("RUSTDOC_DOCTEST_BIN_PATH", path)
            .status()
            .map_or(ExitCode::FAILURE, exit_code);
    }
    let folder = std::env::current_dir().unwrap_or_default();
    println!("{}", line(&folder, program, std::env::vars_os()));
    ExitCode::SUCCESS
}

/// The runner's line. A variable that is not text is left out: the program has it from this one, as the runner has it.
fn line(folder: &Path, program: &[OsString], variables: impl Iterator<Item = (OsString, OsString)>) -> String {
    let program: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    let variables = variables.filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        Some(format!("{name}={value}"))
    });
    let variables: Vec<_> = variables.collect();
    let parts = [folder.to_string_lossy().into_owned(), program.join(WORD), variables.join(WORD)];
    format!("{START}{}", parts.join(PART).replace('\n', LINE_END))
}

/// Tests that start cargo or a compiler again and again: they build projects, workspaces, device crates and the playground's
/// page, and assemble all kernels. They run longest, however small their files are, and only [`Extent::All`] has them.
const COMPILING: [&str; 6] = [
    "-p host --test assembled",
    "-p xtask --test project",
    "-p xtask --test new",
    "-p playground --test integration",
    "-p cuda_builder-tests --test integration",
    "-p cuda_std-tests --test upstream",
];

/// Which tests are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All but the [`COMPILING`] ones.
    Usual,
    All,
}

/// A program to be run.
#[derive(Debug)]
struct Program {
    /// Cargo's line about it.
    heading: Vec<u8>,
    /// The arguments of `cargo test` that run it again.
    target: String,
    command: Command,
    /// Whether it compiles, whether it is one of a package's larger tests, and the size of its file: such a program runs
    /// longer.
    length: (bool, bool, u64),
}

impl Program {
    /// Reads the runner's line, with what cargo printed before.
    fn read(line: &str, heading: &[u8]) -> Option<Self> {
        let line = line.trim_end_matches('\n').strip_prefix(START)?.replace(LINE_END, "\n");
        let mut parts = line.split(PART);
        let (folder, program, variables) = (parts.next()?, parts.next()?, parts.next()?);
        let mut words = program.split(WORD);
        let path = Path::new(words.next()?);
        let mut command = Command::new(path);
        let variables: Vec<_> = variables.split(WORD).filter_map(|variable| variable.split_once('=')).collect();
        let package = variables.iter().find_map(|(name, value)| (*name == "CARGO_PKG_NAME").then_some(*value));
        let target = target(&plain(&String::from_utf8_lossy(heading)), package?, path);
        let compiles = COMPILING.contains(&&*target);
        let length = (compiles, target.contains(" --test "), path.metadata().map_or(0, |file| file.len()));
        command.args(words).current_dir(folder).envs(variables).env_remove(WANTED).stdin(Stdio::null());
        Some(Self { heading: heading.to_owned(), target, command, length })
    }

    /// Runs it to its end. What it prints comes behind the heading. A program that cannot be run has failed.
    fn run(mut self) -> (Vec<u8>, Outcome) {
        let start = Instant::now();
        let mut text = self.heading;
        let said = text.len();
        let mut to_the_end = || -> Result<ExitStatus> {
            let (mut reader, mut child) = output::spawn(&mut self.command)?;
            reader.read_to_end(&mut text).map_err(failure)?;
            child.wait().map_err(failure)
        };
        let ended = to_the_end();
        let success = ended.as_ref().is_ok_and(ExitStatus::success);
        if !success {
            // As cargo says it. It may have ended within a line.
            let end = if text.ends_with(b"\n") { "" } else { "\n" };
            let why = ended.map_or_else(|failure| failure.message, |status| status.to_string());
            let failed = format!("{end}error: test failed, to rerun pass `{}`\n({why})\n", self.target);
            text.extend(failed.bytes());
        }
        let mut outcome = Outcome::of(success);
        String::from_utf8_lossy(&text[said..]).lines().for_each(|line| outcome.read(&plain(line)));
        outcome.times.push((start.elapsed(), self.target));
        (text, outcome)
    }
}

/// The arguments of `cargo test` for a program that cargo announced with `heading`.
fn target(heading: &str, package: &str, program: &Path) -> String {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    // Running unittests src/lib.rs (target/debug/deps/host-0123456789abcdef)
    let (source, _) = heading.trim_start().trim_start_matches("Running ").split_once(" (").unwrap_or_default();
    let is_example = program.parent().is_some_and(|folder| folder.ends_with("examples"));
    let kind = match source.strip_prefix("unittests ") {
        None => format!("--test {name}"),
        Some(_) if is_example => format!("--example {name}"),
        Some(source) if source.ends_with("main.rs") || source.contains("bin/") => format!("--bin {name}"),
        Some(_) => "--lib".to_owned(),
    };
    format!("-p {package} {kind}")
}

/// Prints all of it, without anything in between.
fn print(text: &[u8]) {
    // The reader of our output may be gone; the checks go on.
    let _ = stdout().lock().write_all(text);
}

/// The programs that wait for a core.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    programs: Vec<Program>,
    /// Whether no other ones come.
    complete: bool,
}

impl Queue {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.waiting.lock().expect("nobody panics with it"));
        self.changed.notify_all();
    }

    /// The next one to run. The long ones come first, so that none is left alone at the end.
    fn next(&self) -> Option<Program> {
        let waiting = self.waiting.lock().expect("nobody panics with it");
        let is_to_wait = |waiting: &mut Waiting| waiting.programs.is_empty() && !waiting.complete;
        let mut waiting = self.changed.wait_while(waiting, is_to_wait).expect("nobody panics with it");
        let lengths = waiting.programs.iter().enumerate().map(|(at, program)| (program.length, at));
        let (_, at) = lengths.max()?;
        Some(waiting.programs.swap_remove(at))
    }

    /// Runs programs until there are none left.
    fn work(&self) -> Outcome {
        let mut outcome = Outcome::of(true);
        while let Some(program) = self.next() {
            let (text, other) = program.run();
            print(&text);
            outcome.add(other);
        }
        outcome
    }
}

/// Runs `cargo test`, and what it has built of tests.
pub(super) fn run(cargo: &mut Command, runner: &Path, extent: Extent) -> Result<Outcome> {
    cargo.arg("--config").arg(format!("target.'cfg(all())'.runner = [{runner:?}, {RUNNER:?}]"));
    let queue = Queue::default();
    scope(|scope| {
        // Cargo has a core too: its tests in documents run one after the other.
        let cores = available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (1..cores).map(|_| scope.spawn(|| queue.work())).collect();
        // Cargo's lines from a heading on.
        let mut section = Vec::new();
        let followed = output::follow(cargo, |bytes, line| {
            // As it is: a variable may have colours in it.
            if let Some(program) = Program::read(&String::from_utf8_lossy(bytes), &section) {
                section.clear();
                let (compiles, ..) = program.length;
                if compiles && extent == Extent::Usual {
                    status("Leaving out", format_args!("cargo test {}", program.target));
                } else {
                    queue.change(|waiting| waiting.programs.push(program));
                }
                return;
            }
            if ["Running ", "Doc-tests "].iter().any(|heading| line.trim_start().starts_with(heading)) {
                print(&section);
                section.clear();
            }
            section.extend(bytes);
        });
        print(&section);
        queue.change(|waiting| waiting.complete = true);
        let rest = queue.work();
        let mut outcome = followed?;
        outcome.add(rest);
        for worker in workers {
            outcome.add(worker.join().expect("a worker does not panic"));
        }
        Ok(outcome)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Program, line, target};

    #[cfg(unix)]
    #[test]
    fn a_program_is_run_as_cargo_said() {
        let script = "pwd; echo \"$ODD\"; echo 'test a ... FAILED'; echo 'test result: FAILED. 2 passed; 1 failed'; printf x; exit 3";
        let program = ["/bin/sh", "-c", script].map(Into::into);
        let variables = [("CARGO_PKG_NAME", "cli"), ("ODD", "a=b\nc")].map(|(name, value)| (name.into(), value.into()));
        let said = line(Path::new("/"), &program, variables.into_iter());
        assert_eq!(said.lines().count(), 1);
        assert!(Program::read("test a ... ok", b"").is_none());
        let read = Program::read(&said, b"     Running tests/all.rs (target/debug/deps/all-1)\n").expect("it is one");
        let (text, outcome) = read.run();
        let text = String::from_utf8(text).expect("it is text");
        assert!(text.contains("(target/debug/deps/all-1)\n/\na=b\nc\ntest a ... FAILED\n"), "{text}");
        assert!(!outcome.success && outcome.passed == 2);
        assert_eq!(outcome.failures(), ["cargo test -p cli --test sh\n  a"]);
    }

    #[test]
    fn a_program_that_cannot_be_run_has_failed() {
        let variables = [("CARGO_PKG_NAME".into(), "cli".into())];
        let said = line(Path::new("/"), &["/there/is/none-1".into()], variables.into_iter());
        let (text, outcome) = Program::read(&said, b"").expect("it is a program").run();
        assert!(!outcome.success && String::from_utf8_lossy(&text).contains("cannot run"), "{text:?}");
        assert_eq!(outcome.failures(), ["cargo test -p cli --test none (ended without a result)"]);
    }

    #[test]
    fn a_program_is_run_again_by_its_name() {
        for (heading, program, expected) in [
            ("     Running unittests src/lib.rs (target/debug/deps/cli-1)", "deps/cli-1", "-p cli --lib"),
            ("     Running unittests src/main.rs (target/debug/deps/cli-1)", "deps/cli-1", "-p cli --bin cli"),
            (
                "     Running unittests src/bin/so_me.rs (target/debug/deps/so_me-1)",
                "deps/so_me-1",
                "-p cli --bin so_me",
            ),
            ("     Running ../src/lib.rs (target/debug/deps/unit-1)", "deps/unit-1", "-p cli --test unit"),
            (
                "     Running unittests examples/a/main.rs (target/debug/examples/a-1)",
                "examples/a-1",
                "-p cli --example a",
            ),
        ] {
            assert_eq!(target(heading, "cli", &Path::new("/target/debug").join(program)), expected);
        }
    }
}
