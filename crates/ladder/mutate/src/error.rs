//! The errors of mutation testing.

use std::path::{Path, PathBuf};

/// The reasons why mutants cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder or the simulator returned an error.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The program does not contain the PTX of a kernel.
    #[error("there is no PTX for {0}, so it cannot be mutated")]
    NoPtx(String),
    /// A kernel computes a wrong result without any mutation.
    #[error(
        "{launch} is wrong without a mutation, at {size}: {why}; run `ladder check {rung} --device sim` for details"
    )]
    WrongAlready {
        /// The rung.
        rung: &'static str,
        /// The launch of the rung.
        launch: String,
        /// The size of the problem.
        size: String,
        /// What is wrong with the result.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {why}", path.display())]
    File {
        /// The operation that failed.
        doing: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the operation.
        why: String,
    },
}

impl Error {
    /// Returns whether a device or a file failed. Any other error means that the user must change the request.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_failure(),
            _ => true,
        }
    }

    pub(crate) fn file(doing: &'static str, path: &Path, why: impl ToString) -> Self {
        Self::File { doing, path: path.to_owned(), why: why.to_string() }
    }
}
