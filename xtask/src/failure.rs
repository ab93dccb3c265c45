//! What a task says when it cannot go on.

use std::fmt;
use std::process::ExitCode;

/// A message, a hint at what to do about it, and the exit code that goes with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    /// What was wrong, and where.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The program's exit code: 1 for work that failed, 2 for a request that cannot be met.
    pub code: u8,
}

/// What tasks return.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Work that failed: exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: 1,
        }
    }

    /// A request that cannot be met as it was made: exit code 2.
    pub fn request(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::new(message)
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// A file operation that failed: `verb` as in "cannot read".
    pub fn file(verb: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {verb} {}: {error}", path.display()))
    }

    /// The exit code for `main`.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}
