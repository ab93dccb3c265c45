//! The error of a test.

use std::fmt;
use std::panic::Location;

/// The result of a test or of one of its steps.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// A failed step of a test: the line of the test, the device, and the reason.
///
/// `Debug` writes the same text as `Display`, because `cargo test` prints the `Debug` form of a returned error.
#[derive(Clone)]
pub struct Error {
    at: &'static Location<'static>,
    on: Option<String>,
    what: String,
}

impl Error {
    #[track_caller]
    pub(crate) fn new(what: impl ToString) -> Self {
        Self { at: Location::caller(), on: None, what: what.to_string() }
    }

    pub(crate) fn on(self, device: &impl fmt::Display) -> Self {
        Self { on: Some(device.to_string()), ..self }
    }
}

/// Adds the line of the calling test to the error of a step.
#[track_caller]
pub(crate) fn located<T>(result: Result<T, impl ToString>) -> Result<T> {
    let at = Location::caller();
    result.map_err(|what| Error { at, on: None, what: what.to_string() })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.at.file(), self.at.line())?;
        if let Some(on) = &self.on {
            write!(f, " {on}:")?;
        }
        // Diagnostics begin on a new line.
        let blank = if self.what.starts_with('\n') { "" } else { " " };
        write!(f, "{blank}{}", self.what)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
