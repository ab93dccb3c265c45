//! Parse errors: the reason and the position in the text.

use super::ast::At;
use super::source::Source;

/// The first error in a text that is not PTX.
///
/// The error is displayed as `line 12, column 5: expected …, found …`, followed by the source line and a caret under
/// the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}\n{}", excerpt(.source_line, *.column))]
pub struct ParseError {
    /// The reason, as text.
    pub message: String,
    /// The position, as a byte offset into the text.
    pub at: At,
    /// The line, starting at 1.
    pub line: u32,
    /// The column, in bytes from 1.
    pub column: u32,
    /// The text of the whole line.
    pub source_line: String,
}

impl ParseError {
    /// Creates an error at a position in a text.
    #[must_use]
    pub fn new(source: &Source<'_>, at: At, message: impl Into<String>) -> Self {
        let (line, column) = source.line_column(at);
        let source_line = source.line_text(line).to_owned();
        Self { message: message.into(), at, line, column, source_line }
    }
}

/// The maximum number of bytes of a line that are shown before the position, and after it.
const MAX_SHOWN: usize = 100;

/// Returns a source line and a caret under one of its columns, both indented by four spaces. If the line is long,
/// returns only the part around the column.
fn excerpt(line: &str, column: u32) -> String {
    let at = line.floor_char_boundary((column as usize).saturating_sub(1));
    let from = line.floor_char_boundary(at.saturating_sub(MAX_SHOWN));
    let to = line.ceil_char_boundary(at.saturating_add(MAX_SHOWN));
    // Tabs are kept, so that the caret is aligned for any tab width.
    let blank: String = line[from..at].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    let indent = if from > 0 { " " } else { "" };
    format!("    {before}{}{after}\n    {indent}{blank}^", &line[from..to])
}
