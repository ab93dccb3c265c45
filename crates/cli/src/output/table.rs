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
    is_number: bool,
    is_name: bool,
    is_unbroken: bool,
}

impl Column {
    /// A column of words.
    pub fn text(heading: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            is_number: false,
            is_name: false,
            is_unbroken: false,
        }
    }

    /// A column of numbers, which are aligned to the right.
    pub fn number(heading: impl Into<String>) -> Self {
        Self {
            is_number: true,
            ..Self::text(heading)
        }
    }

    /// A column of names from the code, such as rungs: set as code in Markdown.
    pub fn name(heading: impl Into<String>) -> Self {
        Self {
            is_name: true,
            ..Self::text(heading)
        }
    }

    /// The same column, with cells that are never broken into lines.
    #[must_use]
    pub fn unbroken(self) -> Self {
        Self {
            is_unbroken: true,
            ..self
        }
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
        Self {
            text: text.into(),
            color: Some(Color::Green),
        }
    }

    /// A red cell: a wrong result.
    pub fn bad(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            color: Some(Color::Red),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, color: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl Table {
    /// A table of these columns, without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same table, wrapped to 120 columns when there is no terminal, for tables of many words.
    #[must_use]
    pub fn wrapped(self) -> Self {
        Self {
            is_wrapped: true,
            ..self
        }
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
        let widths = self.drawn(OutputStyle::default());
        let widths = widths.column_max_content_widths();
        // Each cell has a blank on both sides, and there is a line between cells.
        widths
            .iter()
            .map(|&own| usize::from(own) + 3)
            .sum::<usize>()
            + 1
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
        match style.terminal {
            true => {
                table
                    .set_content_arrangement(ContentArrangement::Dynamic)
                    .enforce_styling();
            }
            false => {
                table.force_no_tty();
            }
        }
        if self.is_wrapped && !style.terminal {
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(WIDTH);
        }
        let headings = self.columns.iter().map(|column| &column.heading);
        table.set_header(
            headings.map(|heading| comfy_table::Cell::new(heading).add_attribute(Attribute::Bold)),
        );
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
                match column.is_name && !text.is_empty() {
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
            if column.is_number {
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
