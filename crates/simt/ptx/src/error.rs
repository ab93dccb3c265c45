//! Errors of parsing: the reason and the place in the text.

use super::ast::At;
use super::source::Source;

/// The first thing in a text that is not PTX.
///
/// Displayed as `line 12, column 5: expected …, found …`, then the source line and a caret under the
/// place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}\n{}", excerpt(.source_line, *.column))]
pub struct ParseError {
    /// The reason, in words.
    pub message: String,
    /// The place, as a byte offset into the text.
    pub at: At,
    /// The line, from 1.
    pub line: u32,
    /// The column, in bytes from 1.
    pub column: u32,
    /// The text of the whole line.
    pub source_line: String,
}

impl ParseError {
    /// An error at a place of a text.
    #[must_use]
    pub fn new(source: &Source<'_>, at: At, message: impl Into<String>) -> Self {
        let (line, column) = source.line_column(at);
        let source_line = source.line_text(line).to_owned();
        Self { message: message.into(), at, line, column, source_line }
    }
}

/// How much of a line is shown before and after the place.
const SHOWN: usize = 100;

/// A source line and a caret under one of its columns, indented by four. Of a long line, the part around
/// the column.
fn excerpt(line: &str, column: u32) -> String {
    let at = line.floor_char_boundary((column as usize).saturating_sub(1));
    let from = line.floor_char_boundary(at.saturating_sub(SHOWN));
    let to = line.ceil_char_boundary(at.saturating_add(SHOWN));
    // A tab stays a tab, so that the caret stands right whatever a tab's width is.
    let blank: String = line[from..at].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    let indent = if from > 0 { " " } else { "" };
    format!("    {before}{}{after}\n    {indent}{blank}^", &line[from..to])
}
