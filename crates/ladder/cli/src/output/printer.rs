//! Writes documents in the requested format.

use std::io::Write;

use clap::Args;

use super::document::Document;
use super::style::{Form, OutputStyle};

/// What is written below tables that have further columns.
const MORE_COLUMNS: &str = "more columns: --wide, --json\n";

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
        let mut printer = Printer::new(self, style, out);
        printer.show(document)?;
        printer.finish()
    }
}

/// Writes documents one after the other, each when it is complete; as JSON, all together at the end.
pub struct Printer<'a> {
    format: Format,
    style: OutputStyle,
    out: &'a mut dyn Write,
    /// The records that will be written as JSON.
    records: Document,
    /// Whether tables had columns that were left out.
    is_cut: bool,
}

impl<'a> Printer<'a> {
    /// A printer that writes to `out`.
    pub fn new(format: Format, style: OutputStyle, out: &'a mut dyn Write) -> Self {
        Self { format, style, out, records: Document::default(), is_cut: false }
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
        match self.style.form {
            Form::Text => {
                self.is_cut |= document.is_cut(self.style);
                self.out.write_all(document.text(self.style).as_bytes())?;
            }
            Form::Markdown => self.out.write_all(document.markdown().as_bytes())?,
            Form::Records => {
                for record in document.results() {
                    writeln!(self.out, "{}", serde_json::to_string(&record)?)?;
                }
            }
        }
        self.out.flush()
    }

    /// Writes the records or, below text, how to see the columns that were left out.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(self) -> std::io::Result<()> {
        match (self.format.json, self.is_cut) {
            (true, _) => self.out.write_all(self.records.json().as_bytes()),
            (false, true) => self.out.write_all(MORE_COLUMNS.as_bytes()),
            (false, false) => Ok(()),
        }
    }
}
