//! What keeps a comparison from being made.

use crate::profile::ProfileError;

/// Why there is no comparison. Each message is one line and says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgreeError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// There is no profile to compare.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// What is needed and not here.
    #[error("sim and GPU cannot be compared here: {}", .missing.join("; "))]
    Missing {
        /// What is missing and how to get it.
        missing: Vec<String>,
    },
    /// A file of recorded comparisons that cannot be read or written.
    #[error("cannot use {path}: {why}")]
    File {
        /// The file.
        path: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A recorded run that is none of any ladder here.
    #[error(
        "a recorded run of the ladder {ladder} cannot be repeated: {why}; `cargo xtask agree` records it anew on a GPU"
    )]
    Unrepeatable {
        /// The ladder.
        ladder: String,
        /// What is not as it was.
        why: String,
    },
    /// What compares PTX with SASS failed.
    #[error("what ptxas made of {entry} is not known: {error}")]
    Tool {
        /// The kernel.
        entry: String,
        /// The tool's failure.
        error: toolkit::Error,
    },
}

impl AgreeError {
    /// The exit code: 1 where a tool failed, 2 where what was asked for cannot be done.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Tool { .. } => 1,
            Self::Engine(error) if error.is_failure() => 1,
            _ => 2,
        }
    }
}
