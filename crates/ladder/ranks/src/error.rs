//! The errors of running a problem on several devices.

/// Everything that can keep ranks from computing a problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder cannot be run, on this rank.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// One of the ranks has failed, has ended or does not connect. All ranks get this error.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// The number of the rank.
        rank: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Returns whether a device or a rank failed. Any other error means that the request cannot be fulfilled.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_failure(),
            Self::Rank { .. } => true,
        }
    }
}

/// Returns the error of a device or a connection that failed in an operation.
pub(crate) fn failed(doing: &'static str, reason: impl ToString) -> engine::Error {
    engine::Error::Device { doing, reason: reason.to_string() }
}
