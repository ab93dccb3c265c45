//! What became of the pitfalls on a GPU, and what the tools of NVIDIA's compute-sanitizer find in them: the kept results.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::results::{self, Record};

/// The tools of compute-sanitizer.
pub const TOOLS: [&str; 4] = ["memcheck", "initcheck", "racecheck", "synccheck"];

/// What became of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum BugEffect {
    /// The result is right.
    Right,
    /// Some elements of the result are wrong.
    Wrong {
        /// How many.
        elements: u32,
        /// How many there are.
        of: u32,
    },
    /// The device refused or ended the launch.
    Error {
        /// The device's words.
        says: String,
    },
    /// The launch was not over in time.
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

/// The heading of the column that says what a GPU did with the faulty kernel.
pub const ON_GPU: &str = "on a GPU";

/// The heading of the column that says what a GPU did with the fixed version.
pub const FIXED_ON_GPU: &str = "fixed, on a GPU";

/// The results of `lab pitfalls` that this program was built with.
pub fn kept() -> &'static [Record] {
    static KEPT: LazyLock<Vec<Record>> = LazyLock::new(|| {
        let text = include_str!("../../../../../results/h100/pitfalls.jsonl");
        results::parse(text).expect("`lab record` wrote the file")
    });
    &KEPT
}

/// The kept results of a pitfall.
pub fn kept_of(pitfall: &str) -> Option<&'static Record> {
    kept().iter().find(|record| record.rung == pitfall)
}
