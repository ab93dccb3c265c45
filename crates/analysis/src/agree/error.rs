//! The errors of a comparison.

use crate::profile::ProfileError;

/// The reason why a comparison is not possible. Each message is one line and says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgreeError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// One side cannot be profiled.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A tool or a GPU that is needed is missing.
    #[error("sim and GPU cannot be compared here: {}", .missing.join("; "))]
    Missing {
        /// The missing things, and how to get them.
        missing: Vec<String>,
    },
    /// A file of recorded comparisons cannot be read or written.
    #[error("cannot use {path}: {why}")]
    File {
        /// The file.
        path: String,
        /// The reason, and what to do about it.
        why: String,
    },
    /// A recorded run does not match any ladder of this program.
    #[error(
        "a recorded run of the ladder {ladder} cannot be repeated: {why}; `cargo xtask agree` records it anew on a GPU"
    )]
    Unrepeatable {
        /// The ladder.
        ladder: String,
        /// The difference between the record and the ladder.
        why: String,
    },
    /// The comparison of PTX with SASS failed.
    #[error("what ptxas made of {entry} is not known: {error}")]
    Tool {
        /// The kernel.
        entry: String,
        /// The tool's failure.
        error: toolkit::Error,
    },
}

impl AgreeError {
    /// The exit code: 1 when a tool failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Tool { .. } => 1,
            Self::Engine(error) if error.is_failure() => 1,
            _ => 2,
        }
    }
}
