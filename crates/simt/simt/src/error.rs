//! The error of lowering a kernel to code that this machine runs.

use ptx::ast::At;

/// The reason why a kernel cannot be lowered: something that this machine does not support, or something that is not
/// valid PTX, and its place in the text.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LowerError {
    /// The reason, in words.
    pub message: String,
    /// Where it stands in the text.
    pub at: At,
    /// Whether it is valid PTX, which this machine does not run.
    pub is_valid: bool,
}

impl LowerError {
    /// An error for something that this machine does not support.
    pub fn unsupported(what: impl std::fmt::Display, at: At) -> Self {
        Self { message: format!("{what} is not supported"), at, is_valid: true }
    }

    /// An error for something that is not valid PTX, or contradicts itself.
    pub fn invalid(message: impl Into<String>, at: At) -> Self {
        Self { message: message.into(), at, is_valid: false }
    }
}

/// `Debug` is what `unwrap`, and `?` in `main` or in a test, print. It is `Display`, because errors are for people.
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
