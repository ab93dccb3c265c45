//! A document: the output of a command, in reading order.

use analysis::results::Record;
use engine::Provenance;
use serde::Serialize;
use simt_check::diagnostic::{Diagnostic, Style, texts};

use super::style::OutputStyle;
use super::table::Table;
use super::wrapped;

/// The output of a command: text blocks for people, and records for programs.
#[derive(Clone, Debug, Default)]
pub struct Document {
    blocks: Vec<Block>,
    /// The elements of the JSON array, each as JSON text.
    records: Vec<String>,
    /// The JSON output if it is not an array.
    value: Option<String>,
    /// The conditions under which the tables' results were measured.
    context: Option<Context>,
}

/// The circumstances in which results were measured.
#[derive(Clone, Debug)]
pub struct Context {
    /// The device: its name first, then its properties and driver.
    pub device: String,
    /// How the device was measured; empty if the command determines it.
    pub conditions: String,
    /// The date and the compilers.
    pub provenance: Provenance,
}

#[derive(Clone, Debug)]
enum Block {
    Heading {
        title: String,
        rest: String,
        is_apart: bool,
    },
    Paragraph(String),
    Table(Table),
    /// Records that no table shows.
    Recorded(Vec<Record>),
    Facts(Vec<(String, String)>),
    Caption(Vec<String>),
    Notes(Vec<String>),
    Picture {
        plain: String,
        terminal: String,
    },
    Diagnostics(Vec<Diagnostic>),
}

/// The minimum width of the facts' labels, so that the facts of several documents are aligned.
const FACTS: usize = 18;

impl Document {
    /// Adds `title: rest`, with the title in bold. If `rest` is empty, the colon is left out.
    pub fn heading(&mut self, title: impl Into<String>, rest: impl Into<String>) {
        let (title, rest, is_apart) = (title.into(), rest.into(), false);
        self.blocks.push(Block::Heading { title, rest, is_apart });
    }

    /// Adds a heading like [`Document::heading`], after a blank line.
    pub fn section(&mut self, title: impl Into<String>, rest: impl Into<String>) {
        let (title, rest, is_apart) = (title.into(), rest.into(), true);
        self.blocks.push(Block::Heading { title, rest, is_apart });
    }

    /// Adds a paragraph. Text output keeps its line breaks.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds records that no table shows.
    pub fn recorded(&mut self, records: Vec<Record>) {
        self.blocks.push(Block::Recorded(records));
    }

    /// States the circumstances in which the results of the tables were measured.
    pub fn measured(&mut self, context: Context) {
        self.context = Some(context);
    }

    /// Returns the document's records: those of tables with results, and the records that no table shows.
    pub fn results(&self) -> Vec<Record> {
        let records = self.blocks.iter().map(|block| match (block, &self.context) {
            (Block::Table(table), Some(context)) => table.records(context),
            (Block::Recorded(records), _) => records.clone(),
            _ => Vec::new(),
        });
        records.flatten().collect()
    }

    /// Adds facts, one per line: a label and a value. A fact without a label continues the previous fact.
    pub fn facts<W: Into<String>>(&mut self, facts: impl IntoIterator<Item = (W, String)>) {
        let facts = facts.into_iter().map(|(what, value)| (what.into(), value));
        self.blocks.push(Block::Facts(facts.collect()));
    }

    /// Adds notes below a table: one per line as text, or one sentence in Markdown.
    pub fn caption(&mut self, lines: Vec<String>) {
        self.blocks.push(Block::Caption(lines));
    }

    /// Adds a remark: a line of text, or a list item in Markdown.
    pub fn note(&mut self, line: impl Into<String>) {
        match self.blocks.last_mut() {
            Some(Block::Notes(notes)) => notes.push(line.into()),
            _ => self.blocks.push(Block::Notes(vec![line.into()])),
        }
    }

    /// Adds text that a function draws for this style's width, with color on a terminal.
    pub fn picture(&mut self, style: OutputStyle, drawn: impl Fn(OutputStyle) -> String) {
        let [plain, terminal] = [false, true].map(|terminal| drawn(OutputStyle { terminal, ..style }));
        self.blocks.push(Block::Picture { plain, terminal });
    }

    /// Adds diagnostics, with empty lines around them. For programs, the diagnostics become records.
    pub fn diagnostics(&mut self, diagnostics: Vec<Diagnostic>) {
        if !diagnostics.is_empty() {
            self.blocks.push(Block::Diagnostics(diagnostics));
        }
    }

    /// Adds an element to the JSON array.
    pub fn record(&mut self, record: &impl Serialize) {
        self.records.push(to_json(record));
    }

    /// Replaces the JSON array with this value.
    pub fn value(&mut self, value: &impl Serialize) {
        self.value = Some(to_json(value));
    }

    /// Adds the blocks and the JSON output of another document.
    pub fn append(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
        self.records.extend(other.records);
        self.value = other.value.or(self.value.take());
    }

    /// Returns whether any table of the document leaves out columns in this style.
    pub(super) fn is_cut(&self, style: OutputStyle) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Table(table) if table.is_cut(style)))
    }

    /// Writes the document as text. Lines of prose are broken between words.
    pub fn text(&self, style: OutputStyle) -> String {
        let lines = |text: &str| wrapped(text, style.width).join("\n") + "\n";
        let mut text = String::new();
        let mut is_after_diagnostics = false;
        for block in &self.blocks {
            if is_after_diagnostics && !matches!(block, Block::Heading { is_apart: true, .. } | Block::Diagnostics(_)) {
                text.push('\n');
            }
            is_after_diagnostics = matches!(block, Block::Diagnostics(_));
            match block {
                Block::Heading { title, rest, is_apart } => {
                    let is_apart = *is_apart && !text.is_empty();
                    text += if is_apart { "\n" } else { "" };
                    text += &lines(&format!("{}{}", style.bold(title), after_colon(rest)));
                }
                Block::Paragraph(paragraph) => text += &lines(paragraph),
                Block::Table(table) => text += &table.text(style),
                Block::Recorded(_) => {}
                Block::Facts(facts) => {
                    let widths = facts.iter().map(|(what, _)| what.chars().count());
                    let width = widths.max().unwrap_or(0).max(FACTS) + 2;
                    for (what, value) in facts {
                        let values = wrapped(value, style.width.saturating_sub(width));
                        text += &format!("{what:width$}{}\n", values.join(&format!("\n{:width$}", "")));
                    }
                }
                Block::Caption(notes) | Block::Notes(notes) => text.extend(notes.iter().map(|note| lines(note))),
                Block::Picture { plain, terminal } => {
                    text += if style.terminal { terminal } else { plain };
                }
                Block::Diagnostics(diagnostics) => {
                    let style = if style.terminal { Style::of_terminal(true) } else { Style::default() };
                    text += &format!("\n{}", texts(diagnostics, style));
                }
            }
        }
        text
    }

    /// Writes the document as Markdown.
    pub fn markdown(&self) -> String {
        let shown = self.blocks.iter().filter(|block| !matches!(block, Block::Recorded(_)));
        let blocks = shown.map(|block| match block {
            Block::Heading { title, rest, .. } => format!("### {title}{}\n", after_colon(rest)),
            Block::Paragraph(text) => format!("{text}\n"),
            Block::Picture { plain, .. } => format!("```text\n{plain}```\n"),
            Block::Recorded(_) => String::new(),
            Block::Diagnostics(diagnostics) => format!("```text\n{}```\n", texts(diagnostics, Style::default())),
            Block::Table(table) => table.markdown(),
            Block::Facts(facts) => {
                let items = facts.iter().map(|(what, value)| match what.is_empty() {
                    true => format!("- {value}\n"),
                    false => format!("- {what}: {value}\n"),
                });
                items.collect()
            }
            Block::Caption(lines) => format!("{}.\n", lines.join("; ")),
            Block::Notes(notes) => notes.iter().map(|note| format!("- {note}\n")).collect(),
        });
        blocks.collect::<Vec<_>>().join("\n")
    }

    /// Writes the records as JSON: an array with one element per line, or one value.
    pub fn json(&self) -> String {
        match &self.value {
            None => format!("[\n{}\n]\n", self.records.join(",\n")),
            Some(value) => format!("{value}\n"),
        }
    }
}

fn after_colon(rest: &str) -> String {
    match rest {
        "" => String::new(),
        rest => format!(": {rest}"),
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings, numbers, arrays and maps by name serialize")
}

#[cfg(test)]
mod tests;
