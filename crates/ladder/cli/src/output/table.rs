//! Tables of headed columns, as text or Markdown.

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{
    Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};
use serde::Deserialize;
use textwrap::core::display_width;

use super::style::{OutputStyle, wrapped};

/// A line below the headings, and no others.
const STYLE: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─'));

/// The blanks between two columns.
const GAP: u16 = 2;

/// Text columns are not narrower than this, unless their text is shorter.
const NARROWEST: usize = 24;

/// A table: headed columns and rows of cells. A row may have fewer cells than there are columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column, by its heading.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    content: Content,
    is_unbroken: bool,
    importance: Importance,
}

/// Which columns of a table are left out first where the table is too wide. The order is that of importance, from high
/// to low. Of equally important columns, the last is left out first.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// Always shown.
    #[default]
    High,
    /// Left out where the table does not fit.
    Medium,
    /// Left out before all columns of medium importance.
    Low,
    /// Shown only with `--wide`, and in Markdown.
    Wide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Text,
    Number,
    Name,
}

impl Column {
    fn new(heading: impl Into<String>, content: Content) -> Self {
        let is_unbroken = content != Content::Text;
        Self { heading: heading.into(), content, is_unbroken, importance: Importance::High }
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

    /// The same column, with this importance.
    #[must_use]
    pub fn of(mut self, importance: Importance) -> Self {
        self.importance = importance;
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

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The width of the table with all of its columns, when no cell is broken into lines.
    pub fn width(&self) -> usize {
        let columns = 0..self.columns.len();
        with_gaps(columns.map(|index| self.lines(index).map(display_width).max().unwrap_or(0)))
    }

    /// Whether columns are left out in this style.
    pub(super) fn is_cut(&self, style: OutputStyle) -> bool {
        self.shown(style).len() < self.columns.len()
    }

    pub(super) fn text(&self, style: OutputStyle) -> String {
        let shown = self.shown(style);
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        match style.terminal {
            true => table.enforce_styling(),
            false => table.force_no_tty(),
        };
        if !style.wide {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
        }
        let bold = |text: &str| comfy_table::Cell::new(text).add_attribute(Attribute::Bold);
        table.set_header(shown.iter().map(|&index| bold(&self.columns[index].heading)));
        for row in &self.rows {
            table.add_row(shown.iter().filter_map(|&index| row.get(index)).map(|cell| {
                let drawn = comfy_table::Cell::new(&cell.text);
                match cell.color {
                    Some(color) => drawn.fg(color),
                    None => drawn,
                }
            }));
        }
        for (place, &index) in shown.iter().enumerate() {
            let Some(drawn) = table.column_mut(place) else { continue };
            let gap = if place + 1 < shown.len() { GAP } else { 0 };
            drawn.set_padding((0, gap));
            let least = u16::try_from(self.least_width(index)).unwrap_or(u16::MAX);
            drawn.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least.saturating_add(gap))));
            self.align(drawn, index);
        }
        format!("{}\n", table.trim_fmt())
    }

    /// The columns that fit, by their indices.
    fn shown(&self, style: OutputStyle) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        if style.wide {
            return shown;
        }
        let importance = |index: usize| self.columns[index].importance;
        shown.retain(|&index| importance(index) != Importance::Wide);
        while with_gaps(shown.iter().map(|&index| self.least_width(index))) > style.width {
            let least = shown.iter().copied().max_by_key(|&index| importance(index));
            match least.filter(|&index| importance(index) != Importance::High) {
                Some(least) => shown.retain(|&index| index != least),
                None => break,
            }
        }
        shown
    }

    /// The width that a column needs. Headings and text are broken between words.
    fn least_width(&self, index: usize) -> usize {
        let column = &self.columns[index];
        let word = |line: &str| line.split(' ').map(display_width).max().unwrap_or(0);
        let words = column.heading.lines().map(word).max().unwrap_or(0);
        // A heading has two lines at most.
        let heading = (words..display_width(&column.heading)).find(|&width| wrapped(&column.heading, width).len() <= 2);
        let heading = heading.unwrap_or(words);
        let cells = self.cells(index).map(|line| match column.is_unbroken {
            true => display_width(line),
            false => display_width(line).min(word(line).max(NARROWEST)),
        });
        cells.max().unwrap_or(0).max(heading)
    }

    /// The lines of a column's heading and cells.
    fn lines(&self, index: usize) -> impl Iterator<Item = &str> {
        self.columns[index].heading.lines().chain(self.cells(index))
    }

    /// The lines of a column's cells.
    fn cells(&self, index: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(index)).flat_map(|cell| cell.text.lines())
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
        table.column_iter_mut().enumerate().for_each(|(index, drawn)| self.align(drawn, index));
        format!("{}\n", table.trim_fmt())
    }

    fn align(&self, drawn: &mut comfy_table::Column, index: usize) {
        if self.columns[index].content == Content::Number {
            drawn.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The width of columns with the gaps between them.
fn with_gaps(widths: impl Iterator<Item = usize>) -> usize {
    let gap = usize::from(GAP);
    widths.map(|width| width + gap).sum::<usize>().saturating_sub(gap)
}

#[cfg(test)]
mod tests;
