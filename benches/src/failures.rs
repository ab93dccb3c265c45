//! Contestants that take the GPU down with them, and the processes that go on without them.
//!
//! A fault of a kernel ends everything that its process has on a GPU, and a kernel that never ends is ended only with its
//! process. So [`supervise`] runs `lab versus` in a process of its own. When a contestant makes the device unusable, that process
//! writes which one it was and why to a file, and the next one begins anew and reports this contestant without launching it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cases::Case;

/// How often the supervisor looks at its process.
const LOOK: Duration = Duration::from_millis(50);

/// A contestant that made the device unusable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The ladder.
    pub ladder: String,
    /// The case's label.
    pub case: String,
    /// The contestant's name.
    pub contestant: String,
    /// What the driver says.
    pub why: String,
}

/// The contestants that are not launched again, and the file for the next one.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    known: Vec<Failure>,
    file: Option<PathBuf>,
}

impl Failures {
    /// The failures in a file, one a line; the next one is added to it. Without a file there are none, and none is kept.
    ///
    /// # Errors
    /// When the file cannot be read, or has something else in it.
    pub fn read(file: Option<PathBuf>) -> io::Result<Self> {
        let text = file.as_ref().map_or(Ok(String::new()), fs::read_to_string)?;
        let known: Result<_, _> = text.lines().map(serde_json::from_str).collect();
        Ok(Self { known: known?, file })
    }

    /// All of them, in order.
    pub fn known(&self) -> &[Failure] {
        &self.known
    }

    /// The failure of a contestant of a case.
    pub fn of(&self, case: &Case, contestant: &str) -> Option<&Failure> {
        let is_own =
            |own: &&Failure| own.ladder == case.ladder.name && own.case == case.label && own.contestant == contestant;
        self.known.iter().find(is_own)
    }

    /// Tells the process that supervises this one. That has to come before anything of the device is freed, which may
    /// wait for ever for a kernel that never ends.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn report(&self, failure: &Failure) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let line = serde_json::to_string(failure)? + "\n";
        OpenOptions::new().append(true).open(file)?.write_all(line.as_bytes())
    }
}

/// Runs a program with `--failures FILE` behind its arguments, and again as long as it adds a failure to that file. A process
/// that has added one is given `patience` to end. Returns the status of the last process.
///
/// # Errors
/// When the file cannot be made or the program cannot be started.
pub fn supervise(command: &mut Command, patience: Duration) -> io::Result<ExitStatus> {
    let file = tempfile::NamedTempFile::new()?;
    command.arg("--failures").arg(file.path());
    loop {
        let known = fs::metadata(file.path())?.len();
        let mut child = command.spawn()?;
        let status = wait(&mut child, || Ok(fs::metadata(file.path())?.len() > known), patience)?;
        if fs::metadata(file.path())?.len() == known {
            return Ok(status);
        }
        if let Some(Failure { contestant, why, .. }) = Failures::read(Some(file.path().into()))?.known().last() {
            eprintln!("error: {contestant} made the device unusable: {why}; measuring again without it");
        }
    }
}

/// Waits until a process ends. From when `has_failed` on, it has `patience` left, and is ended after that.
fn wait(child: &mut Child, has_failed: impl Fn() -> io::Result<bool>, patience: Duration) -> io::Result<ExitStatus> {
    let mut failed_at = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if failed_at.is_none() && has_failed()? {
            failed_at = Some(Instant::now());
        }
        if failed_at.is_some_and(|at| at.elapsed() > patience) {
            child.kill()?;
        }
        thread::sleep(LOOK);
    }
}
