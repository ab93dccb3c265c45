//! The style of text output.

use anstyle::Style;
use serde::{Deserialize, Serialize};

/// The text of a cell without a value.
pub const NOTHING: &str = "–";

/// The width of text that is not written to a terminal.
pub const WIDTH: usize = 100;

/// The form in which documents are written, unless JSON is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Text for people.
    Text,
    /// Markdown, for the book.
    Markdown,
    /// Records of results, for `lab record`: JSON lines.
    Records,
}

/// The settings of text output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputStyle {
    /// Whether a person reads the text at a terminal. Only then is it colored.
    pub terminal: bool,
    /// The form of documents.
    pub form: Form,
    /// The maximum number of columns of a line.
    pub width: usize,
    /// Whether tables show all of their columns, however wide.
    pub wide: bool,
}

impl Default for OutputStyle {
    fn default() -> Self {
        Self { terminal: false, form: Form::Text, width: WIDTH, wide: false }
    }
}

impl OutputStyle {
    /// Returns `text`, in bold on a terminal.
    pub fn bold(self, text: &str) -> String {
        let bold = match self.terminal {
            true => Style::new().bold(),
            false => Style::new(),
        };
        format!("{bold}{text}{bold:#}")
    }
}

/// Joins the lines of each paragraph. Lines of lists and code are kept.
pub(crate) fn unfilled(text: &str) -> String {
    let mut unfilled = String::new();
    let mut is_in_paragraph = false;
    for line in text.lines() {
        let is_prose = line.starts_with(|first: char| !" -|".contains(first));
        if !unfilled.is_empty() {
            unfilled.push(if is_prose && is_in_paragraph { ' ' } else { '\n' });
        }
        unfilled += line;
        is_in_paragraph = !line.is_empty();
    }
    unfilled
}

/// Formats a number: a count without decimals, or an average or a share with two decimals.
pub fn number(value: f64) -> String {
    match value.fract() {
        0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
