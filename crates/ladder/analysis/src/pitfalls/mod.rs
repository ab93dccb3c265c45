//! What became of the pitfalls on a GPU, and what the tools of NVIDIA's compute-sanitizer find in them: a record.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::document::replace;

/// The tools of compute-sanitizer.
pub const TOOLS: [&str; 4] = ["memcheck", "initcheck", "racecheck", "synccheck"];

/// What was measured, by the names of the pitfalls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Where and when it was measured: the device, its driver, the date, the compilers, and compute-sanitizer's version.
    pub measured: Vec<String>,
    /// What was measured of each pitfall.
    pub pitfalls: BTreeMap<String, Recorded>,
}

/// What was measured of a pitfall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// What became of the faulty kernel.
    pub faulty: Outcome,
    /// What became of the cure.
    pub cure: Outcome,
    /// What the tools of compute-sanitizer say of the faulty kernel, by their names. Empty if they were not run.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolReport>,
}

/// What became of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::Wrong { elements, of } => write!(f, "wrong: {elements} of {of}"),
            Self::Error { says } => write!(f, "error: {says}"),
            Self::TimeOut => f.write_str("does not end"),
        }
    }
}

/// What a tool says of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolReport {
    /// Whether it finds anything.
    pub finds: bool,
    /// Its first words about it.
    pub says: String,
}

impl Record {
    /// The record of this program.
    pub fn embedded() -> &'static Self {
        static RECORD: LazyLock<Record> = LazyLock::new(|| {
            let text = include_str!("recorded.json");
            serde_json::from_str(text).expect("recorded.json is a record, as its test shows")
        });
        &RECORD
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`Error::Request`] when the file cannot be read or is not a record.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| Error::file("read", path, why))?;
        serde_json::from_str(&text).map_err(|why| Error::file("read", path, why))
    }

    /// Writes the record, in one step.
    ///
    /// # Errors
    /// [`Error::Request`] when the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(self).map_err(|why| Error::file("write", path, why))?;
        text += "\n";
        replace(path, &text).map_err(|why| Error::file("write", path, why))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let said = ToolReport { finds: true, says: "Invalid __shared__ write of size 4 bytes".to_owned() };
        let recorded = Recorded {
            faulty: Outcome::Wrong { elements: 3, of: 64 },
            cure: Outcome::Right,
            tools: BTreeMap::from([("memcheck".to_owned(), said)]),
        };
        let record = Record {
            measured: vec!["a GPU".to_owned()],
            pitfalls: BTreeMap::from([("missing_barrier".to_owned(), recorded)]),
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        record.write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap(), record);
        assert!(Record::read(folder.path()).is_err());
    }

    #[test]
    fn the_embedded_record_can_be_read() {
        let known = |tool: &String| TOOLS.contains(&tool.as_str());
        assert!(Record::embedded().pitfalls.values().all(|own| own.tools.keys().all(known)));
    }
}
