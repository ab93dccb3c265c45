//! The errors of a measurement. Each message says how to resolve the error.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A contestant that made the device unusable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The ladder.
    pub ladder: String,
    /// The case's label.
    pub case: String,
    /// The contestant's name.
    pub contestant: String,
    /// The driver's error.
    pub why: String,
}

/// The errors that prevent a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error that the program `ladder` can also return: a ladder, a device or the output failed.
    #[error(transparent)]
    Ladder(#[from] cli::Error),
    /// The request cannot be fulfilled here: there is no GPU, the GPU is too old, or there are too few rounds.
    #[error("{0}")]
    Request(String),
    /// The CUDA C++ cannot be compiled or loaded.
    #[error("{0}")]
    Cuda(String),
    /// A contestant has failed, and this process can no longer use the device.
    #[error("{} made the device unusable: {}", .0.contestant, .0.why)]
    Unusable(Failure),
}

impl From<host::Error> for Error {
    /// Replaces hints that name an option of `ladder`.
    fn from(error: host::Error) -> Self {
        match error {
            host::Error::NoGpu { what } => Self::no_gpu(&what),
            host::Error::NeedsNewer { needs, .. } => Self::Request(needs.to_string()),
            error => Self::Ladder(error.into()),
        }
    }
}

impl From<Error> for cli::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Ladder(error) => error,
            error => Self::Failed { code: error.exit_code(), text: error.to_string() },
        }
    }
}

impl Error {
    /// Returns the error for a missing CUDA driver, GPU or clock.
    pub(crate) fn no_gpu(what: &str) -> Self {
        Self::Request(format!("{what}; measuring times needs a GPU: `cargo xtask doctor` shows what is missing"))
    }

    /// Returns the error for a missing CUDA C++ compiler. `why` names the searched places, or the reason why nvcc
    /// cannot be used.
    pub(crate) fn no_nvcc(why: &str) -> Self {
        Self::Cuda(format!("no nvcc: {why}; set NVCC to its path, add it to PATH, or run `cargo xtask setup --nvidia`"))
    }

    /// Returns the error for a file or folder of the cache that cannot be written or read.
    pub(crate) fn cache(path: &Path, why: &std::io::Error) -> Self {
        Self::Cuda(format!(
            "cannot use {}: {why}; set LADDER_CACHE to another folder for nvcc's results",
            path.display()
        ))
    }

    /// Returns the exit code: 1 when a step failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Ladder(error) => error.exit_code(),
            Self::Request(_) => 2,
            Self::Cuda(_) | Self::Unusable(_) => 1,
        }
    }
}
