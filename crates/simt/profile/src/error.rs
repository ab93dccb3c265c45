//! The errors of this crate.

/// The reason why a launch cannot be explained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such device or architecture.
    #[error(transparent)]
    Device(#[from] devices::Error),
    /// The machine refuses the launch, or its kernel fails.
    #[error(transparent)]
    Launch(#[from] simt::LaunchError),
    /// The request cannot be fulfilled: why, and what to do about it.
    #[error("{0}")]
    Request(String),
}
