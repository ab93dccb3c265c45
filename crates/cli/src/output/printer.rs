//! Writes documents in the requested format.

use std::io::Write;

use clap::Args;

use super::document::Document;
use super::style::OutputStyle;

/// In which form a command prints what it found.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Format {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Format {
    /// Writes a document in this form.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(self, document: &Document, style: OutputStyle, out: &mut dyn Write) -> std::io::Result<()> {
        let text = match (self.json, style.markdown) {
            (true, _) => document.json(),
            (false, true) => document.markdown(),
            (false, false) => document.text(style),
        };
        out.write_all(text.as_bytes())
    }
}

/// Writes documents one after the other, each when it is complete; as JSON, all together at the end.
pub struct Printer<'a> {
    format: Format,
    style: OutputStyle,
    out: &'a mut dyn Write,
    /// The records that will be written as JSON.
    records: Document,
}

impl<'a> Printer<'a> {
    /// A printer that writes to `out`.
    pub fn new(format: Format, style: OutputStyle, out: &'a mut dyn Write) -> Self {
        Self { format, style, out, records: Document::default() }
    }

    /// Writes a document or, for JSON, keeps its records.
    ///
    /// # Errors
    /// When the output cannot be written.
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
    /// When the output cannot be written.
    pub fn finish(self) -> std::io::Result<()> {
        match self.format.json {
            true => self.out.write_all(self.records.json().as_bytes()),
            false => Ok(()),
        }
    }
}
