//! PyTorch's functions as baselines: a Python process runs them on data that it generates.
//!
//! The process and the rungs alternate on the device, call by call. The process checks and times each function, and
//! rotates through several sets of data like a [`Session`](host::Session). The program of the process,
//! `python/worker.py`, documents the requests.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use host::Options;
use serde::Deserialize;
use serde_json::json;

/// The program of the process.
const WORKER: &str = include_str!("../python/worker.py");

/// The functions: the ladder, the name in tables, and the name in the worker.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("softmax", "PyTorch", "rows"),
    ("attention", "PyTorch, cuDNN", "attention by cuDNN"),
    ("attention", "PyTorch, FlashAttention-2", "attention by FlashAttention-2"),
];

/// Returns the names of the functions that compute a ladder's problems: in tables, and in the worker.
pub fn functions(ladder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FUNCTIONS.iter().filter(move |(registered, ..)| *registered == ladder).map(|&(_, name, function)| (name, function))
}

/// The process, which ends when this value is dropped.
#[derive(Debug)]
pub struct Torch {
    /// The versions of PyTorch and its libraries.
    pub versions: String,
    process: RefCell<Process>,
}

#[derive(Debug)]
struct Process {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    child: Child,
}

/// An answer of the worker.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    versions: Option<String>,
    refused: Option<String>,
    error: Option<String>,
    time_ns: Option<f64>,
}

/// A step of a request.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Generates the data.
    Prepare,
    /// Compares the function's result with one of higher precision.
    Check,
    /// Runs the function once.
    Time,
}

impl Torch {
    /// Starts the process with a Python interpreter.
    ///
    /// # Errors
    /// Returns the reason when the interpreter does not start, has no PyTorch, or when PyTorch finds no GPU.
    pub fn start(python: &OsStr) -> Result<Self, String> {
        let mut command = Command::new(python);
        command.args(["-c", WORKER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let name = python.display();
        let mut child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name} has no standard input or output"));
        };
        let mut process = Process { requests, answers: BufReader::new(answers), child };
        let first = process.answer()?;
        match first.versions {
            Some(versions) => Ok(Self { versions, process: RefCell::new(process) }),
            None => Err(first.error.unwrap_or_else(|| format!("{name} did not report the version of PyTorch"))),
        }
    }

    /// Requests a step of a function and returns the time in nanoseconds if the step measured one.
    ///
    /// # Errors
    /// Returns the reason when the function does not compute the problem, when its result is wrong, or when the process
    /// fails.
    pub fn request(&self, function: &str, options: &Options, step: Step) -> Result<Option<f64>, String> {
        let step = match step {
            Step::Prepare => "prepare",
            Step::Check => "check",
            Step::Time => "time",
        };
        let mut process = self.process.borrow_mut();
        writeln!(process.requests, "{}", json!({ "function": function, "options": options, "step": step }))
            .map_err(|error| format!("the Python process has ended: {error}"))?;
        let Answer { refused, error, time_ns, .. } = process.answer()?;
        match refused.or(error) {
            Some(why) => Err(why),
            None => Ok(time_ns),
        }
    }
}

impl Process {
    /// Reads an answer of the process.
    fn answer(&mut self) -> Result<Answer, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("the Python process exited without an answer".to_owned()),
            Ok(_) => serde_json::from_str(&line).map_err(|error| format!("Python sent invalid JSON: {error}")),
            Err(error) => Err(format!("cannot read from the Python process: {error}")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A busy worker does not notice the end of its input. Killing it loses nothing, because its data is random.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
