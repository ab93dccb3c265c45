//! The errors of all analyses.

use std::path::Path;

/// The reason why an analysis is not possible. Each message is one line and says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// There is no such device or architecture.
    #[error(transparent)]
    Device(#[from] devices::Error),
    /// A launch cannot be explained.
    #[error(transparent)]
    Profile(#[from] profile::Error),
    /// One of NVIDIA's tools is missing or failed.
    #[error("{}", one_line(.0))]
    Tool(#[from] toolkit::Error),
    /// The request cannot be fulfilled: why, and what to do about it.
    #[error("{0}")]
    Request(String),

    /// The entry is compiled for newer architectures only, or for another one.
    #[error("{entry} needs {needs}{or_newer}, not {arch}")]
    NeedsNewer {
        /// The entry.
        entry: String,
        /// The oldest architecture that has it.
        needs: String,
        /// What is said of newer ones: nothing where they do not run it.
        or_newer: &'static str,
        /// The architecture that was asked for.
        arch: String,
    },
    /// The chip does not have these metrics.
    #[error("{device} has no metric {}; {hint}`ncu --query-metrics` lists what it has", .metrics.join(", "))]
    NotOnChip {
        /// Their names.
        metrics: Vec<String>,
        /// The GPU.
        device: String,
        /// Suggestions for misspelled names, with a blank at the end; empty when there are none.
        hint: String,
    },
    /// Nsight Compute is missing or too old.
    #[error("{0}; --ncu names one, --device sim needs none")]
    NoNcu(toolkit::Error),
    /// The driver does not allow this user to read the counters.
    #[error(
        "the driver does not let this user read performance counters (ERR_NVGPUCTRPERM): run as root, or have the \
         machine's owner load the driver with the option NVreg_RestrictProfilingToAdminUsers=0 (in a container: \
         grant CAP_SYS_ADMIN); --device sim needs neither"
    )]
    Refused,
    /// `ncu`, or the program that it ran, failed.
    #[error("{version} failed{}: {}", .status.map_or(String::new(), |code| format!(" with exit code {code}")), lines(.said))]
    Failed {
        /// Its version.
        version: String,
        /// Its exit status, if it has one.
        status: Option<i32>,
        /// Its output.
        said: String,
    },
    /// The output of `ncu` has an unknown format.
    #[error("cannot read what {version} wrote: {why}; note: it begins: {}", lines(.text))]
    Form {
        /// Its version.
        version: String,
        /// The error in it.
        why: String,
        /// The output.
        text: String,
    },
    /// The PTX of this entry cannot be compared with its SASS, because a tool failed.
    #[error("what ptxas made of {0} is not known: {1}")]
    Sass(String, toolkit::Error),
}

impl Error {
    /// The error when a file cannot be read, written or started. A file that cannot be written is unchanged.
    pub fn file(doing: &'static str, path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Request(format!("cannot {doing} {}: {why}", path.display()))
    }

    /// Whether a device or a tool failed, instead of a request that cannot be fulfilled.
    pub fn is_failure(&self) -> bool {
        use toolkit::Error::{Refused, Scratch, Start, Unread};
        match self {
            Self::Engine(error) => error.is_failure(),
            Self::Tool(Refused { .. } | Scratch(_) | Start { .. } | Unread { .. }) => true,
            Self::Sass(..) | Self::Profile(profile::Error::Launch(_)) => true,
            _ => false,
        }
    }
}

/// A tool's message, on one line.
fn one_line(error: &toolkit::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" | ")
}

/// The number of lines that an error shows of another program's output.
const SHOWN_LINES: usize = 6;

/// The number of characters that it shows of each line.
const SHOWN_CHARACTERS: usize = 120;

/// The first lines, joined into one.
fn lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let shown: Vec<String> = lines.take(SHOWN_LINES).map(begin).collect();
    match shown.is_empty() {
        true => "(nothing)".to_owned(),
        false => shown.join(" | "),
    }
}

fn begin(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
