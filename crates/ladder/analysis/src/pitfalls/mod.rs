//! The pitfalls' effects on a GPU, and the findings of NVIDIA's compute-sanitizer, as recorded results.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::results::{self, Record};

/// The tools of compute-sanitizer.
pub const TOOLS: [&str; 4] = ["memcheck", "initcheck", "racecheck", "synccheck"];

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum BugEffect {
    /// The result is correct.
    Right,
    /// Some elements of the result are wrong.
    Wrong {
        /// The number of wrong elements.
        elements: u32,
        /// The total number of elements.
        of: u32,
    },
    /// The device refused or ended the launch.
    Error {
        /// The device's message.
        says: String,
    },
    /// The launch did not end before the time limit.
    TimeOut,
}

impl fmt::Display for BugEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::Wrong { elements, of } => write!(f, "wrong: {elements} of {of}"),
            Self::Error { says } => write!(f, "error: {says}"),
            Self::TimeOut => f.write_str("does not end"),
        }
    }
}

/// The heading of the column for the outcome of the faulty kernel on a GPU.
pub const ON_GPU: &str = "on a GPU";

/// The heading of the column for the outcome of the fixed version on a GPU.
pub const FIXED_ON_GPU: &str = "fixed, on a GPU";

/// Returns the results of `lab pitfalls` that are built into this program.
pub fn kept() -> &'static [Record] {
    static KEPT: LazyLock<Vec<Record>> = LazyLock::new(|| {
        let text = include_str!("../../../../../results/h100/pitfalls.jsonl");
        results::parse(text).expect("`lab record` wrote the file")
    });
    &KEPT
}

/// Returns the recorded results of a pitfall.
pub fn kept_of(pitfall: &str) -> Option<&'static Record> {
    kept().iter().find(|record| record.rung == pitfall)
}
