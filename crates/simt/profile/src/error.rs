//! The errors of this crate.

/// The reason why a launch cannot be explained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device or architecture is not known.
    #[error(transparent)]
    Device(#[from] devices::Error),
    /// The simulator rejects the launch, or its kernel fails.
    #[error(transparent)]
    Launch(#[from] simt::LaunchError),
    /// The request cannot be fulfilled. The text says why and what to do about it.
    #[error("{0}")]
    Request(String),
}
