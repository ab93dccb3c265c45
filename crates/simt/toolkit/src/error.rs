//! Errors from running a tool.

use std::path::PathBuf;

use locate::nvidia::{Tool, Unavailable};

/// The reason why a tool failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The tool was not found, or the tools that were found cannot be used.
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
    #[error("{} rejected{}: {said}", .tool.name(), .what)]
    Refused {
        /// The tool.
        tool: Tool,
        /// The rejected input, with a leading space; empty if the input is clear from the context.
        what: String,
        /// The tool's message, with its line breaks.
        said: String,
    },
    /// `ptxas` does not know the architecture.
    #[error("ptxas {version} does not know {arch}; it knows {}", .known.join(", "))]
    UnknownArch {
        /// The requested architecture.
        arch: String,
        /// The assembler's version.
        version: String,
        /// The architectures that the assembler supports, oldest first.
        known: Vec<String>,
    },
    /// The tool succeeded, but its output does not contain the requested content.
    #[error("the output of {} does not contain {what}: the output format is unknown", .tool.name())]
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
