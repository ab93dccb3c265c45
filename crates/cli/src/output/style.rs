//! The style of text output.

use anstyle::Style;

/// The cell of a missing value.
pub const NOTHING: &str = "–";

/// Who reads the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputStyle {
    /// A person at a terminal: tables fit its width, and there is colour. Otherwise the text is plain, and tables are
    /// as wide as they need to be.
    pub terminal: bool,
    /// A document: the output is Markdown.
    pub markdown: bool,
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

/// A time, in microseconds or in milliseconds.
pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds < 1e6 {
        true => format!("{:.2} µs", nanoseconds / 1e3),
        false => format!("{:.3} ms", nanoseconds / 1e6),
    }
}

/// Text in lines of at most `width` characters; lines after the first are indented. A longer word has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("  {word}"));
        } else {
            *last += if last.is_empty() { "" } else { " " };
            *last += word;
        }
    }
    lines
}

/// Text as XML and HTML have it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number: a count as it is, an average or a share with two decimals.
pub fn number(value: f64) -> String {
    match value.fract() {
        0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
