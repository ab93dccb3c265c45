//! Tables with column headings, as text or Markdown.

use analysis::results::{Record, Unit, Value};
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, LineStyle, TableStyle, Width};
use serde::Deserialize;
use textwrap::core::display_width;

use super::document::Context;
use super::style::{NOTHING as MISSING, OutputStyle};
use super::wrapped;

/// The table style: a line below the headings, and no other lines.
const STYLE: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─'));

/// The number of blanks between two columns.
const GAP: u16 = 2;

/// The minimum width of text columns, unless their text is shorter.
const NARROWEST: usize = 24;

/// A table: columns with headings, and rows of cells. A row can have fewer cells than there are columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// The subject of the table's results, if `lab record` records its rows.
    results_of: Option<Subject>,
}

/// The subject of a table's results.
#[derive(Clone, Debug)]
struct Subject {
    ladder: String,
    problem: String,
    /// How the results were measured, in addition to the document's conditions.
    conditions: String,
}

/// A column, identified by its heading.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    content: Content,
    is_unbroken: bool,
    importance: Importance,
}

/// The importance of a column, from high to low. If a table is too wide, the least important columns are left out
/// first. Among columns of the same importance, the last one is left out first.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// Always shown.
    #[default]
    High,
    /// Left out if the table does not fit.
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

    /// Returns a column of words.
    pub fn text(heading: impl Into<String>) -> Self {
        Self::new(heading, Content::Text)
    }

    /// Returns a column of numbers, which are aligned to the right.
    pub fn number(heading: impl Into<String>) -> Self {
        Self::new(heading, Content::Number)
    }

    /// Returns a column of names from the code, such as the names of rungs. Markdown formats the names as code.
    pub fn name(heading: impl Into<String>) -> Self {
        Self::new(heading, Content::Name)
    }

    /// Returns the column with cells that are never broken into lines.
    #[must_use]
    pub fn unbroken(mut self) -> Self {
        self.is_unbroken = true;
        self
    }

    /// Returns the column with this importance.
    #[must_use]
    pub fn of(mut self, importance: Importance) -> Self {
        self.importance = importance;
        self
    }
}

/// A cell: its text, which can have several lines, its color, and its value if that differs from the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    color: Option<Color>,
    value: Option<Value>,
}

impl Cell {
    /// Returns a green cell: a correct result, or the row that applies.
    pub fn good(text: impl Into<String>) -> Self {
        Self { color: Some(Color::Green), ..Self::from(text) }
    }

    /// Returns a red cell: a wrong result.
    pub fn bad(text: impl Into<String>) -> Self {
        Self { color: Some(Color::Red), ..Self::from(text) }
    }

    /// Returns a cell with this value.
    pub fn of(value: Value) -> Self {
        Self { value: Some(value.clone()), ..Self::from(value.to_string()) }
    }

    /// Returns a cell with a number and a unit. If there is no number, the cell is empty and drawn as a dash.
    pub fn measured(number: Option<f64>, unit: Unit) -> Self {
        number.map_or(Self::from(MISSING), |number| Self::of(Value::new(number, unit)))
    }

    /// Returns the value for a record, with names formatted as code. Returns `None` if the cell is empty.
    fn recorded(&self, column: &Column) -> Option<Value> {
        match &self.value {
            Some(value) => Some(value.clone()),
            None if self.text == MISSING || self.text.is_empty() => None,
            None if column.content == Content::Name => Some(Value::Text(format!("`{}`", self.text))),
            None => Some(Value::of_text(&self.text)),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), color: None, value: None }
    }
}

impl Table {
    /// Returns a table of these columns, without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// Returns the table with its rows marked as results of this ladder's rungs on this problem.
    #[must_use]
    pub fn with_results_of(mut self, ladder: impl Into<String>, problem: impl Into<String>) -> Self {
        self.results_of = Some(Subject { ladder: ladder.into(), problem: problem.into(), conditions: String::new() });
        self
    }

    /// Returns the table with these measurement conditions, in addition to the document's conditions.
    #[must_use]
    pub fn with_conditions(mut self, conditions: impl Into<String>) -> Self {
        if let Some(subject) = &mut self.results_of {
            subject.conditions = conditions.into();
        }
        self
    }

    /// Returns the records of the table's rows, or no records if the rows are not results.
    pub fn records(&self, context: &Context) -> Vec<Record> {
        let (Some(subject), Some((name, columns))) = (&self.results_of, self.columns.split_first()) else {
            return Vec::new();
        };
        let conditions =
            [&*context.conditions, &*subject.conditions].into_iter().filter(|conditions| !conditions.is_empty());
        let conditions = conditions.collect::<Vec<_>>().join("; ");
        let record = |row: &Vec<Cell>| {
            let values = columns.iter().zip(row.iter().skip(1));
            Record {
                device: context.device.clone(),
                toolchain: context.provenance.toolchain.clone(),
                date: context.provenance.date.clone(),
                command: String::new(),
                conditions: conditions.clone(),
                ladder: subject.ladder.clone(),
                problem: subject.problem.clone(),
                kind: name.heading.clone(),
                rung: row.first().map_or(String::new(), |cell| cell.text.clone()),
                values: values.map(|(column, cell)| (column.heading.clone(), cell.recorded(column))).collect(),
            }
        };
        self.rows.iter().map(record).collect()
    }

    /// Returns a table with a row for each of these records.
    pub fn of_records(records: &[Record]) -> Self {
        let Some(first) = records.first() else { return Self::default() };
        let all = records.iter().flat_map(|record| record.values.keys());
        let headings: indexmap::IndexSet<&String> = all.collect();
        let column = |heading: &&String| {
            let mut values = records.iter().filter_map(|record| record.value(heading)).peekable();
            match values.peek().is_some() && values.all(Value::is_number) {
                true => Column::number(*heading),
                false => Column::text(*heading),
            }
        };
        let mut table = Self::new([Column::name(&first.kind)].into_iter().chain(headings.iter().map(column)));
        for record in records {
            let cell =
                |heading: &&String| record.value(heading).map_or(Cell::from(MISSING), |value| Cell::of(value.clone()));
            table.row([Cell::from(&*record.rung)].into_iter().chain(headings.iter().map(cell)));
        }
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the width of the table with all of its columns if no cell is broken into lines.
    pub fn width(&self) -> usize {
        let columns = 0..self.columns.len();
        with_gaps(columns.map(|index| self.full_width(index)))
    }

    /// Returns the width of a column if no cell is broken into lines.
    fn full_width(&self, index: usize) -> usize {
        self.lines(index).map(display_width).max().unwrap_or(0)
    }

    /// Returns whether the column with the same heading as `column` is shown in this style.
    pub fn shows(&self, column: &Column, style: OutputStyle) -> bool {
        self.shown(style).iter().any(|&index| self.columns[index].heading == column.heading)
    }

    /// Returns whether columns are left out in this style.
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
        let mut widths: Vec<usize> = shown.iter().map(|&index| self.full_width(index)).collect();
        let least: Vec<usize> = shown.iter().map(|&index| self.least_width(index)).collect();
        // Repeatedly make the widest column that can shrink one character narrower.
        while !style.wide && with_gaps(widths.iter().copied()) > style.width {
            let narrower = (0..shown.len()).rev().filter(|&place| widths[place] > least[place]);
            let Some(widest) = narrower.max_by_key(|&place| widths[place]) else { break };
            widths[widest] -= 1;
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
            let width = u16::try_from(widths[place]).unwrap_or(u16::MAX);
            drawn.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width.saturating_add(gap))));
            self.align(drawn, index);
        }
        format!("{}\n", table.trim_fmt())
    }

    /// Returns the indices of the columns that fit.
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

    /// Returns the minimum width of a column. Headings and text are broken between words.
    fn least_width(&self, index: usize) -> usize {
        let column = &self.columns[index];
        let word = |line: &str| line.split(' ').map(display_width).max().unwrap_or(0);
        let words = column.heading.lines().map(word).max().unwrap_or(0);
        // A heading has at most two lines.
        let heading = (words..display_width(&column.heading)).find(|&width| wrapped(&column.heading, width).len() <= 2);
        let heading = heading.unwrap_or(words);
        let cells = self.cells(index).map(|line| match column.is_unbroken {
            true => display_width(line),
            false => display_width(line).min(word(line).max(NARROWEST)),
        });
        cells.max().unwrap_or(0).max(heading)
    }

    /// Returns the lines of a column's heading and cells.
    fn lines(&self, index: usize) -> impl Iterator<Item = &str> {
        self.columns[index].heading.lines().chain(self.cells(index))
    }

    /// Returns the lines of a column's cells.
    fn cells(&self, index: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(index)).flat_map(|cell| cell.text.lines())
    }

    pub(super) fn markdown(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN).force_no_tty();
        let one_line = |text: &str| text.replace('|', r"\|").replace('\n', " ");
        table.set_header(self.columns.iter().map(|column| one_line(&column.heading)));
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

/// Returns the total width of columns and the gaps between them.
fn with_gaps(widths: impl Iterator<Item = usize>) -> usize {
    let gap = usize::from(GAP);
    widths.map(|width| width + gap).sum::<usize>().saturating_sub(gap)
}

#[cfg(test)]
mod tests;
