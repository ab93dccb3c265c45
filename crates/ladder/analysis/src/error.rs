//! The errors of all analyses.

use std::path::Path;

/// The reason why an analysis is not possible. Each message is one line and tells the user what to do.
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
    /// The request cannot be fulfilled. The message gives the reason and what to do.
    #[error("{0}")]
    Request(String),

    /// The entry is only compiled for newer architectures, or only for another architecture.
    #[error("{entry} needs {needs}{or_newer}, not {arch}")]
    NeedsNewer {
        /// The entry.
        entry: String,
        /// The oldest architecture that has the entry.
        needs: String,
        /// The part of the message about newer architectures. Empty if they do not run the entry.
        or_newer: &'static str,
        /// The requested architecture.
        arch: String,
    },
    /// The chip does not have these metrics.
    #[error("{device} has no metric {}; {hint}`ncu --query-metrics` lists its metrics", .metrics.join(", "))]
    NotOnChip {
        /// The names of the metrics.
        metrics: Vec<String>,
        /// The GPU.
        device: String,
        /// Suggestions for misspelled names, followed by a space. Empty if there are none.
        hint: String,
    },
    /// Nsight Compute is missing or too old.
    #[error("{0}; --ncu names one, --device sim does not need it")]
    NoNcu(toolkit::Error),
    /// The driver does not allow this user to read the counters.
    #[error(
        "the driver does not let this user read performance counters (ERR_NVGPUCTRPERM): run as root, or have the \
         machine's owner load the driver with the option NVreg_RestrictProfilingToAdminUsers=0 (in a container: \
         grant CAP_SYS_ADMIN); --device sim works without these permissions"
    )]
    Refused,
    /// `ncu`, or the program that it ran, failed.
    #[error("{version} failed{}: {}", .status.map_or(String::new(), |code| format!(" with exit code {code}")), lines(.said))]
    Failed {
        /// The version of `ncu`.
        version: String,
        /// The exit status, if there is one.
        status: Option<i32>,
        /// The output of `ncu` and of the program.
        said: String,
    },
    /// The output of `ncu` has an unknown format.
    #[error("cannot read the output of {version}: {why}; note: it starts with: {}", lines(.text))]
    Form {
        /// The version of `ncu`.
        version: String,
        /// The error in the output.
        why: String,
        /// The output.
        text: String,
    },
    /// The PTX of this entry cannot be compared with its SASS, because a tool failed.
    #[error("cannot read the SASS that ptxas made from {0}: {1}")]
    Sass(String, toolkit::Error),
}

impl Error {
    /// Returns the error for a file that cannot be read, written or started. A file that cannot be written is
    /// unchanged.
    pub fn file(doing: &'static str, path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Request(format!("cannot {doing} {}: {why}", path.display()))
    }

    /// Returns whether a device or a tool failed. Any other error means that the request cannot be fulfilled.
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

/// Returns a tool's message on one line.
fn one_line(error: &toolkit::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" | ")
}

/// The maximum number of lines of another program's output in an error.
const SHOWN_LINES: usize = 6;

/// The maximum number of characters of each of these lines.
const SHOWN_CHARACTERS: usize = 120;

/// Joins the first lines of a text into one line.
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
