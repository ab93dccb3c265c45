//! What can go wrong with a tool.

use std::path::PathBuf;

use locate::nvidia::{Tool, Unavailable};

/// Why a tool did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none in any place where it could be.
    #[error("{}", unavailable(*.tool, &[]))]
    NotFound {
        /// What was looked for.
        tool: Tool,
    },
    /// There is one, and it does not do.
    #[error("{}", unavailable(*.tool, .refused))]
    Unusable {
        /// What was looked for.
        tool: Tool,
        /// Why each that was found does not do: too old, which release is needed, or that it does not run.
        refused: Vec<String>,
    },
    /// It does not start.
    #[error("cannot run {}: {why}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// It ended with a failure.
    #[error("{} refused{}: {said}", .tool.name(), .what)]
    Refused {
        /// The tool.
        tool: Tool,
        /// What it refused, with a space before it; empty where that is clear.
        what: String,
        /// What it said. Its lines are as it wrote them.
        said: String,
    },
    /// An architecture that `ptxas` does not know.
    #[error("ptxas {version} knows no {arch}; it knows {}", .known.join(", "))]
    UnknownArch {
        /// What was asked for.
        arch: String,
        /// The assembler's version.
        version: String,
        /// The architectures that it assembles for, oldest first.
        known: Vec<String>,
    },
    /// It succeeded and said nothing of what was asked for.
    #[error("{} says nothing of {what}: its output has a form that is not known here", .tool.name())]
    Unread {
        /// The tool.
        tool: Tool,
        /// What it should have spoken of.
        what: String,
    },
    /// No place for temporary files.
    #[error("cannot write a temporary file: {0}")]
    Scratch(String),
}

fn unavailable(tool: Tool, refused: &[String]) -> Unavailable {
    let refused = refused.to_vec();
    Unavailable { tool, refused }
}

impl From<Unavailable> for Error {
    fn from(Unavailable { tool, refused }: Unavailable) -> Self {
        match refused.is_empty() {
            true => Self::NotFound { tool },
            false => Self::Unusable { tool, refused },
        }
    }
}
