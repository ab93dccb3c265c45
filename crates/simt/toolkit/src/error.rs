//! The errors of running a tool.

use std::path::PathBuf;

use locate::nvidia::{Tool, Unavailable};

/// The reason why a tool did not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The tool was not found, or those that were found cannot be used.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The tool cannot be started.
    #[error("cannot run {}: {why}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's error.
        why: String,
    },
    /// The tool failed.
    #[error("{} refused{}: {said}", .tool.name(), .what)]
    Refused {
        /// The tool.
        tool: Tool,
        /// The input that it refused, with a space before it; empty when that is clear.
        what: String,
        /// The tool's message, with its line breaks.
        said: String,
    },
    /// `ptxas` does not know the architecture.
    #[error("ptxas {version} knows no {arch}; it knows {}", .known.join(", "))]
    UnknownArch {
        /// The architecture that was asked for.
        arch: String,
        /// The assembler's version.
        version: String,
        /// The architectures that it assembles for, oldest first.
        known: Vec<String>,
    },
    /// The tool succeeded, but its output does not contain what was asked for.
    #[error("{} says nothing of {what}: its output has a form that is not known here", .tool.name())]
    Unread {
        /// The tool.
        tool: Tool,
        /// The missing content.
        what: String,
    },
    /// No temporary folder can be created.
    #[error("cannot write a temporary file: {0}")]
    Scratch(String),
}
