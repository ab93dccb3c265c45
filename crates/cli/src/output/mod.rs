//! What a command shows, as data: a [`Document`] of headings, tables, facts and notes for people, and of records for
//! programs. It is written as text, as Markdown or as JSON; commands build it and know nothing of the three.

mod document;
mod table;

use std::io::Write;

use anstyle::Style;
use clap::Args;

pub use document::Document;
pub use table::{Cell, Column, Table};

/// What stands in a table where there is no value.
pub const NOTHING: &str = "–";

/// Who reads the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputStyle {
    /// A person at a terminal: tables fit its width, and there is colour. Otherwise the text is plain, and tables are
    /// as wide as they need to be.
    pub terminal: bool,
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

/// In which form a command prints what it found.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Format {
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown
    #[arg(long)]
    pub markdown: bool,
}

/// A time, in microseconds or in milliseconds.
pub(crate) fn duration(nanoseconds: f64) -> String {
    match nanoseconds < 1e6 {
        true => format!("{:.2} µs", nanoseconds / 1e3),
        false => format!("{:.3} ms", nanoseconds / 1e6),
    }
}

impl Format {
    /// Writes a document in this form.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write(
        self,
        document: &Document,
        style: OutputStyle,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let text = match (self.json, self.markdown) {
            (true, _) => document.json(),
            (false, true) => document.markdown(),
            (false, false) => document.text(style),
        };
        out.write_all(text.as_bytes())
    }
}

/// Writes documents one after the other, each when it is done; as JSON all together at the end.
pub struct Printer<'a> {
    format: Format,
    style: OutputStyle,
    out: &'a mut dyn Write,
    /// What waits to be written as JSON.
    records: Document,
}

impl<'a> Printer<'a> {
    /// A printer to `out`.
    pub fn new(format: Format, style: OutputStyle, out: &'a mut dyn Write) -> Self {
        Self {
            format,
            style,
            out,
            records: Document::default(),
        }
    }

    /// Writes a document, or keeps its records.
    ///
    /// # Errors
    /// When the output does not take it.
    pub fn show(&mut self, document: &Document) -> std::io::Result<()> {
        if self.format.json {
            self.records.append(document.clone());
            return Ok(());
        }
        self.format.write(document, self.style, self.out)?;
        self.out.flush()
    }

    /// Writes the records.
    ///
    /// # Errors
    /// When the output does not take them.
    pub fn finish(self) -> std::io::Result<()> {
        match self.format.json {
            true => self.out.write_all(self.records.json().as_bytes()),
            false => Ok(()),
        }
    }
}
