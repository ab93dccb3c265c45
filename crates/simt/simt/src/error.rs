//! The error that lowering a kernel to code for the simulator returns.

use ptx::ast::At;

/// The reason why a kernel cannot be lowered, and its position in the text: the PTX is not valid, or the simulator does
/// not support it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LowerError {
    /// The reason, as a message.
    pub message: String,
    /// The position in the text.
    pub at: At,
    /// Whether the PTX is valid, but not supported by the simulator.
    pub is_valid: bool,
}

impl LowerError {
    /// Returns an error for something that the simulator does not support.
    pub fn unsupported(what: impl std::fmt::Display, at: At) -> Self {
        Self { message: format!("{what} is not supported"), at, is_valid: true }
    }

    /// Returns an error for invalid or contradictory PTX.
    pub fn invalid(message: impl Into<String>, at: At) -> Self {
        Self { message: message.into(), at, is_valid: false }
    }
}

/// Implements `Debug` with the text of `Display`, because users see the `Debug` form when `unwrap` fails, or when `?`
/// returns from `main` or a test.
macro_rules! debug_like_display {
    ($error:ty) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
pub(crate) use debug_like_display;

debug_like_display!(LowerError);
