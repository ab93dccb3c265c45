//! The errors in the book.

use std::fmt::Display;

/// All errors, one per line: `docs/book/src/warps.md:12: no rung is named …`.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct Faults(pub Vec<String>);

impl Faults {
    pub(crate) fn one(place: impl Display, what: impl Display) -> Self {
        Self(vec![at(place, what)])
    }
}

/// Returns the text of a fault with its place.
pub(crate) fn at(place: impl Display, what: impl Display) -> String {
    format!("{place}: {what}")
}
