//! The error of a test.

use std::fmt;
use std::panic::Location;

/// The result of a test and of its steps.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// A step of a test that failed: the line of the test, the device, and why.
///
/// `Debug` is the same text, because `cargo test` prints that of a test that returns it.
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

/// The result of a step, with the line of the test that called for it in its error.
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
        // Diagnostics begin on a line of their own.
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
