//! The errors of showing a kernel.

use std::path::{Path, PathBuf};

/// The result of the functions of `ladder ptx`.
pub(crate) type Result<T> = std::result::Result<T, PtxError>;

/// The reason why a kernel cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum PtxError {
    /// There is no such kernel, not one alone, or not for this architecture.
    #[error("{0}")]
    NoKernel(String),
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A text is not PTX.
    #[error("{name} is no PTX: {error}")]
    NotPtx {
        /// The text.
        name: String,
        /// The position of the first error.
        error: ptx::ParseError,
    },
    /// The output of a tool or of the compiler does not contain a function.
    #[error("{what} has no function `{name}`")]
    NoFunction {
        /// The output that was searched.
        what: &'static str,
        /// The function.
        name: String,
    },
    /// A tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] toolkit::Error),
    /// A ladder cannot make its problem.
    #[error(transparent)]
    Engine(#[from] engine::Error),
}

impl PtxError {
    /// The error for a name that stands for several kernels where one is needed.
    pub(crate) fn several<'a>(name: &str, kernels: impl IntoIterator<Item = &'a str>) -> Self {
        let kernels: Vec<&str> = kernels.into_iter().collect();
        let count = kernels.len();
        Self::NoKernel(format!(
            "`{name}` matches {count} kernels, give one of their names in full:\n  {}",
            kernels.join("\n  ")
        ))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// [`PtxError::Read`] when the file cannot be read.
    pub(crate) fn read(path: &Path) -> Result<String> {
        std::fs::read_to_string(path).map_err(|error| Self::Read {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// The exit code: 2 when the request cannot be fulfilled, 1 when a file or a tool failed.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NoKernel(_) | Self::Tool(toolkit::Error::UnknownArch { .. }) => 2,
            Self::Engine(error) if !error.is_failure() => 2,
            _ => 1,
        }
    }
}
