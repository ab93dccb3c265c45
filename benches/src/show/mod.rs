//! What was measured, shown: tables for people, JSON for programs, Markdown for the README.

mod cells;
mod json;
mod text;

use host::Provenance;

use crate::contest::Contest;

pub use json::json;
pub use text::{caption, markdown, table};

/// When, where and with which compilers it was measured.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// The day and the compilers of this program.
    pub provenance: Provenance,
    /// The device and its driver.
    pub device: String,
    /// nvcc's version, when there is one.
    pub nvcc: Option<String>,
    /// The versions of the baselines' libraries, when there are baselines.
    pub baselines: Option<String>,
    /// How many rounds there were.
    pub runs: u32,
    /// The command line.
    pub command: String,
}

/// The results of a run of `versus`.
#[derive(Clone, Debug)]
pub struct Results {
    /// When, where and with which compilers.
    pub circumstances: Circumstances,
    /// The cases, in order.
    pub contests: Vec<Contest>,
    /// The cases that could not be measured: what, and why.
    pub failed: Vec<(String, String)>,
}

impl Results {
    /// Whether everything was measured, and right.
    pub fn all_right(&self) -> bool {
        self.failed.is_empty() && self.contests.iter().all(Contest::all_right)
    }
}
