//! The output of measurements: tables for people, JSON for programs, Markdown for the README.

mod cells;
mod json;
mod text;

use host::Provenance;

use crate::contest::Contest;

pub use json::json;
pub use text::{caption, markdown, table};

/// The circumstances of a measurement.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// The date, and the compilers of this program.
    pub provenance: Provenance,
    /// The device and its driver.
    pub device: String,
    /// nvcc's version, when there is one.
    pub nvcc: Option<String>,
    /// The versions of the baselines' libraries, when there are baselines.
    pub baselines: Option<String>,
    /// The number of rounds.
    pub runs: u32,
    /// The command line.
    pub command: String,
}

/// The results of a run of `versus`.
#[derive(Clone, Debug)]
pub struct Results {
    /// The circumstances.
    pub circumstances: Circumstances,
    /// The cases, in order.
    pub contests: Vec<Contest>,
    /// The cases that could not be measured, with the reasons.
    pub failed: Vec<(String, String)>,
}

impl Results {
    /// Whether everything was measured and all results were right.
    pub fn all_right(&self) -> bool {
        self.failed.is_empty() && self.contests.iter().all(Contest::all_right)
    }
}
