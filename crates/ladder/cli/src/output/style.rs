//! The style of text output.

use anstyle::Style;
use serde::{Deserialize, Serialize};

/// The cell of a missing value.
pub const NOTHING: &str = "–";

/// The width of text that is not written to a terminal.
pub const WIDTH: usize = 100;

/// The form in which documents are written, where JSON is not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Text for people.
    Text,
    /// Markdown, for the book.
    Markdown,
    /// The records of results, for `lab record`: lines of JSON.
    Records,
}

/// Who reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputStyle {
    /// A person at a terminal: there is color. Otherwise the text is plain.
    pub terminal: bool,
    /// The form of documents.
    pub form: Form,
    /// The most columns of a line.
    pub width: usize,
    /// Whether tables have all of their columns, however wide.
    pub wide: bool,
}

impl Default for OutputStyle {
    fn default() -> Self {
        Self { terminal: false, form: Form::Text, width: WIDTH, wide: false }
    }
}

impl OutputStyle {
    /// `text` in bold on a terminal.
    pub fn bold(self, text: &str) -> String {
        let bold = match self.terminal {
            true => Style::new().bold(),
            false => Style::new(),
        };
        format!("{bold}{text}{bold:#}")
    }
}

/// Text whose paragraphs are lines of any length. Lines of lists and code stay lines.
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

/// A number: a count as it is, an average or a share with two decimals.
pub fn number(value: f64) -> String {
    match value.fract() {
        0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
