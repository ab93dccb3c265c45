//! The errors that running a problem on several devices can return.

/// The reasons why ranks cannot compute a problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder cannot run on this rank.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A rank failed, ended or did not connect. All ranks return this error.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// The number of the rank.
        rank: usize,
        /// The reason for the failure.
        reason: String,
    },
}

impl Error {
    /// Returns whether a device or a rank failed. Any other error means that the user must change the request.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_failure(),
            Self::Rank { .. } => true,
        }
    }
}

/// Creates the error of a device or a connection that failed in an operation.
pub(crate) fn failed(doing: &'static str, reason: impl ToString) -> engine::Error {
    engine::Error::Device { doing, reason: reason.to_string() }
}
