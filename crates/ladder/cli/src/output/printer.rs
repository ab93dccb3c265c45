//! Writes documents in the requested format.

use std::io::Write;

use clap::Args;

use super::document::Document;
use super::style::{Form, OutputStyle};

/// The hint below tables if columns were left out.
const MORE_COLUMNS: &str = "more columns: --wide, --json\n";

/// The format of a command's output.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Format {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Format {
    /// Writes a document in this format.
    ///
    /// # Errors
    /// Returns an error when `out` cannot be written.
    pub fn write(self, document: &Document, style: OutputStyle, out: &mut dyn Write) -> std::io::Result<()> {
        let mut printer = Printer::new(self, style, out);
        printer.show(document)?;
        printer.finish()
    }
}

/// A writer of documents, which writes each document as soon as it is complete. JSON is written as a whole at the end.
pub struct Printer<'a> {
    format: Format,
    style: OutputStyle,
    out: &'a mut dyn Write,
    /// The records that will be written as JSON.
    records: Document,
    /// Whether columns of a table were left out.
    is_cut: bool,
}

impl<'a> Printer<'a> {
    /// Returns a printer that writes to `out`.
    pub fn new(format: Format, style: OutputStyle, out: &'a mut dyn Write) -> Self {
        Self { format, style, out, records: Document::default(), is_cut: false }
    }

    /// Writes a document. For JSON, stores the document's records until the end.
    ///
    /// # Errors
    /// Returns an error when the output cannot be written.
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

    /// Writes the records. Text is followed by a hint about the columns that were left out.
    ///
    /// # Errors
    /// Returns an error when the output cannot be written.
    pub fn finish(self) -> std::io::Result<()> {
        match (self.format.json, self.is_cut) {
            (true, _) => self.out.write_all(self.records.json().as_bytes()),
            (false, true) => self.out.write_all(MORE_COLUMNS.as_bytes()),
            (false, false) => Ok(()),
        }
    }
}
