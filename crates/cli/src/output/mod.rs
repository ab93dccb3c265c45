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
