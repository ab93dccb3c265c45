//! The errors of a measurement. Each message says what to do about it.

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

/// Everything that can keep a measurement from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder, a device or the output failed as it does in the program `ladder`.
    #[error(transparent)]
    Ladder(#[from] cli::Error),
    /// The request cannot be fulfilled here: there is no GPU, or one that is too old, or the rounds are too few.
    #[error("{0}")]
    Request(String),
    /// The CUDA C++ cannot be compiled or loaded.
    #[error("{0}")]
    Cuda(String),
    /// A contestant has failed, and this process can use the device no more.
    #[error("{} made the device unusable: {}", .0.contestant, .0.why)]
    Unusable(Failure),
}

impl From<host::Error> for Error {
    /// Errors whose hint names an option of `ladder` get another hint here.
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
    /// There is no CUDA driver, or the driver finds no GPU, or it has no clock.
    pub(crate) fn no_gpu(what: &str) -> Self {
        Self::Request(format!("{what}; times are a GPU's, and `cargo xtask doctor` shows what this machine lacks"))
    }

    /// There is no CUDA C++ compiler: the places that were searched, or the reason why it cannot be used.
    pub(crate) fn no_nvcc(why: &str) -> Self {
        Self::Cuda(format!(
            "no nvcc: {why}; NVCC names one, or have it on PATH, or `cargo xtask setup --nvidia` installs it"
        ))
    }

    /// A file or folder of the cache cannot be written or read.
    pub(crate) fn cache(path: &Path, why: &std::io::Error) -> Self {
        Self::Cuda(format!(
            "cannot use {}: {why}; LADDER_CACHE names another folder for what nvcc makes",
            path.display()
        ))
    }

    /// The exit code: 1 when something failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Ladder(error) => error.exit_code(),
            Self::Request(_) => 2,
            Self::Cuda(_) | Self::Unusable(_) => 1,
        }
    }
}
