//! Why a kernel cannot be lowered to code that this machine runs.

use ptx::ast::At;

/// An instruction that this machine does not run, or a module that makes no sense: what, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LowerError {
    /// What is wrong, in words.
    pub message: String,
    /// Where it stands in the text, if it is at one place.
    pub at: Option<At>,
}

impl LowerError {
    /// Something that this machine does not do.
    pub fn unsupported(what: impl std::fmt::Display, at: At) -> Self {
        Self {
            message: format!("{what} is not supported"),
            at: Some(at),
        }
    }

    /// Something that is not PTX, or contradicts itself.
    pub fn invalid(message: impl Into<String>, at: At) -> Self {
        Self {
            message: message.into(),
            at: Some(at),
        }
    }
}
