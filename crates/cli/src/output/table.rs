//! Tables of headed columns, drawn with lines or written as Markdown.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement};

use super::style::OutputStyle;

/// The width of a [wrapped](Table::wrapped) table when there is no terminal.
const WIDTH: u16 = 120;

/// A table: headed columns and rows of cells. A row may have fewer cells than there are columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    is_wrapped: bool,
}

/// A column, by its heading.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    content: Content,
    is_unbroken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Text,
    Number,
    Name,
}

impl Column {
    fn new(heading: impl Into<String>, content: Content) -> Self {
        let (heading, is_unbroken) = (heading.into(), false);
        Self { heading, content, is_unbroken }
    }

    /// A column of words.
    pub fn text(heading: impl Into<String>) -> Self {
        Self::new(heading, Content::Text)
    }

    /// A column of numbers, which are aligned to the right.
    pub fn number(heading: impl Into<String>) -> Self {
        Self::new(heading, Content::Number)
    }

    /// A column of names from the code, such as rungs: set as code in Markdown.
    pub fn name(heading: impl Into<String>) -> Self {
        Self::new(heading, Content::Name)
    }

    /// The same column, with cells that are never broken into lines.
    #[must_use]
    pub fn unbroken(mut self) -> Self {
        self.is_unbroken = true;
        self
    }
}

/// A cell: its text, which may have several lines, and its colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    text: String,
    color: Option<Color>,
}

impl Cell {
    /// A green cell: a right result, or the row that applies.
    pub fn good(text: impl Into<String>) -> Self {
        let (text, color) = (text.into(), Some(Color::Green));
        Self { text, color }
    }

    /// A red cell: a wrong result.
    pub fn bad(text: impl Into<String>) -> Self {
        let (text, color) = (text.into(), Some(Color::Red));
        Self { text, color }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        let (text, color) = (text.into(), None);
        Self { text, color }
    }
}

impl Table {
    /// A table of these columns, without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// The same table, wrapped to 120 columns when there is no terminal, for tables of many words.
    #[must_use]
    pub fn wrapped(mut self) -> Self {
        self.is_wrapped = true;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The width of the table when no cell is broken into lines.
    pub fn width(&self) -> usize {
        let drawn = self.drawn(OutputStyle::default());
        // Each cell has a blank on both sides, and there is a line between cells.
        let widths = drawn.column_max_content_widths();
        1 + widths.iter().map(|&own| usize::from(own) + 3).sum::<usize>()
    }

    /// The width of tables in this style.
    pub fn available_width(style: OutputStyle) -> usize {
        let terminal = style.terminal.then(|| comfy_table::Table::new().width());
        usize::from(terminal.flatten().unwrap_or(WIDTH))
    }

    pub(super) fn text(&self, style: OutputStyle) -> String {
        format!("{}\n", self.drawn(style).trim_fmt())
    }

    fn drawn(&self, style: OutputStyle) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        if style.terminal || self.is_wrapped {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        match (style.terminal, self.is_wrapped) {
            (true, _) => table.enforce_styling(),
            (false, true) => table.force_no_tty().set_width(WIDTH),
            (false, false) => table.force_no_tty(),
        };
        let bold = |text: &String| comfy_table::Cell::new(text).add_attribute(Attribute::Bold);
        table.set_header(self.columns.iter().map(|column| bold(&column.heading)));
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| {
                let drawn = comfy_table::Cell::new(&cell.text);
                match cell.color {
                    Some(color) => drawn.fg(color),
                    None => drawn,
                }
            }));
        }
        self.align(&mut table);
        table
    }

    pub(super) fn markdown(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN).force_no_tty();
        let one_line = |text: &str| text.replace('|', r"\|").replace('\n', " ");
        table.set_header(self.columns.iter().map(|own| one_line(&own.heading)));
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns).map(|(cell, column)| {
                let text = one_line(&cell.text);
                match column.content == Content::Name && !text.is_empty() {
                    true => format!("`{text}`"),
                    false => text,
                }
            });
            table.add_row(cells);
        }
        self.align(&mut table);
        format!("{}\n", table.trim_fmt())
    }

    fn align(&self, table: &mut comfy_table::Table) {
        for (drawn, column) in table.column_iter_mut().zip(&self.columns) {
            if column.content == Content::Number {
                drawn.set_cell_alignment(CellAlignment::Right);
            }
            if column.is_unbroken {
                drawn.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
}

#[cfg(test)]
mod tests;
