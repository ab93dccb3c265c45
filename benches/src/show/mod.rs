//! The output of measurements: tables for people, JSON for programs.

mod json;
mod tables;

use serde::Serialize;

use crate::contest::Contest;

pub use json::json;
pub use tables::document;

/// The circumstances of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct MeasurementContext {
    /// The device and its driver.
    pub device: String,
    /// The compilers of this program.
    pub toolchain: String,
    /// nvcc's version, when there is one.
    pub nvcc: Option<String>,
    /// The versions of the baselines' libraries.
    pub baselines: Vec<String>,
    /// The date.
    pub date: String,
    /// The command line.
    pub command: String,
    /// The number of rounds.
    pub rounds: u32,
}

/// A case that could not be measured.
#[derive(Clone, Debug, Serialize)]
pub struct FailedCase {
    /// The case.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// The results of a run of `lab versus`.
#[derive(Clone)]
pub struct Results {
    /// The circumstances.
    pub circumstances: MeasurementContext,
    /// The cases, in order.
    pub contests: Vec<Contest>,
    /// The cases that could not be measured.
    pub failed: Vec<FailedCase>,
}

impl Results {
    /// Returns whether every case was measured and all results were right.
    pub fn all_right(&self) -> bool {
        self.failed.is_empty() && self.contests.iter().all(Contest::all_right)
    }
}
