//! The output of a command, as data: a [`Document`] of headings, tables, facts and notes for people, and of records for
//! programs. A document can be written as text, Markdown, JSON or records of results. Commands build documents without
//! knowing which form is written.

mod document;
mod printer;
mod style;
mod table;

pub use document::{Context, Document};
pub use printer::{Format, Printer};
pub(crate) use report::text::{escaped, wrapped};
pub use report::words::duration;
pub(crate) use style::unfilled;
pub use style::{Form, NOTHING, OutputStyle, WIDTH, number};
pub use table::{Cell, Column, Importance, Table};

/// Returns a note with the reason why a rung is left out.
pub fn left_out(why: impl std::fmt::Display) -> String {
    format!("note: left out: {why}")
}
