//! Contestants that take the GPU down with them, and the processes that go on without them.
//!
//! A fault of a kernel ends everything that its process has on a GPU, and a kernel that never ends is ended only with its
//! process. So [`supervise`] runs `versus` in a process of its own. When a contestant makes the device unusable, that process
//! writes which one it was and why to a file, and the next one begins anew and reports this contestant without launching it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
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

impl Failure {
    /// Whether this contestant of this case is the one.
    pub fn is_of(&self, case: &Case, contestant: &str) -> bool {
        self.ladder == case.ladder.name && self.case == case.label && self.contestant == contestant
    }

    /// The failures in a file, one a line.
    ///
    /// # Errors
    /// When the file cannot be read, or has something else in it.
    pub fn read(path: &Path) -> io::Result<Vec<Self>> {
        let text = fs::read_to_string(path)?;
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
    }

    /// Adds it to a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        let line = serde_json::to_string(self)? + "\n";
        OpenOptions::new().append(true).create(true).open(path)?.write_all(line.as_bytes())
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
        eprintln!("measuring again, without it");
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
