//! What can keep a kernel from being changed and tried.

use std::path::{Path, PathBuf};

/// Why a run of changed kernels is not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder or the simulator refuses.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The program has no PTX of a kernel.
    #[error("there is no PTX of {0}, so it cannot be changed")]
    NoPtx(String),
    /// A kernel is wrong before anything is changed in it.
    #[error("{launch} is wrong as it is, at {size}: {why}; `ladder check {rung} --device sim` says more")]
    WrongAlready {
        /// The rung.
        rung: &'static str,
        /// Its launch.
        launch: String,
        /// The problem.
        size: String,
        /// What is wrong.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {why}", path.display())]
    File {
        /// What was done with it.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What was wrong.
        why: String,
    },
}

impl Error {
    /// Returns whether something failed. Any other error means that the request cannot be fulfilled.
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
