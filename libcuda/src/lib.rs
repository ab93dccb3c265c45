//! Finds the CUDA driver at run time.

mod codes;
mod load;
mod table;

use std::fmt;

/// The environment variable that names the driver's library.
pub const OVERRIDE: &str = "LADDER_LIBCUDA";

/// What looking for the CUDA driver came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The driver is there, and cust's calls reach it.
    Loaded {
        /// The library as it was opened: a name that the system's loader found, or the path in [`OVERRIDE`].
        path: String,
        /// The functions that this driver lacks. Calling one gives `CudaError::NotSupported`.
        missing: Vec<&'static str>,
    },
    /// There is no driver, and every one of cust's calls gives `CudaError::NoDevice`.
    NotFound {
        /// Each library that was looked for, and why it would not do, in one line.
        tried: Vec<(String, String)>,
        /// Whether [`OVERRIDE`] named the library; then the usual ones were not looked for.
        overridden: bool,
    },
}

impl Status {
    /// Whether there is a driver. That says nothing about a GPU: `cust::init` does.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        matches!(self, Status::Loaded { .. })
    }
}

/// One line, without a full stop.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Loaded { path, missing } => {
                write!(f, "CUDA driver {path}")?;
                if !missing.is_empty() {
                    write!(f, " (without {})", missing.join(", "))?;
                }
                Ok(())
            }
            // The user named this one library, so what is wrong with it is the news.
            Status::NotFound {
                tried,
                overridden: true,
            } => {
                write!(f, "no CUDA driver where {OVERRIDE} says")?;
                tried
                    .iter()
                    .try_for_each(|(path, reason)| write!(f, " ({path}: {reason})"))
            }
            Status::NotFound {
                tried,
                overridden: false,
            } => {
                let paths: Vec<&str> = tried.iter().map(|(path, _)| path.as_str()).collect();
                write!(
                    f,
                    "no CUDA driver on this machine (looked for {})",
                    paths.join(", ")
                )
            }
        }
    }
}

/// Looks for the driver, the first time, and says what came of it.
#[must_use]
pub fn status() -> &'static Status {
    &load::found().status
}
