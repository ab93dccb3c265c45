//! The structure of a figure: grids of cells with arrows between them, and text.

use serde::Serialize;

use super::record::Recording;

/// A kind of figure.
#[derive(Debug)]
pub struct Drawing {
    /// The name of the kind.
    pub name: &'static str,
    /// A short description of what the figure shows.
    pub about: &'static str,
    /// Draws all figures of this kind from a recording.
    pub draw: fn(&Recording) -> Vec<Figure>,
}

/// A figure.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    /// The kind of figure: the name of its [`Drawing`].
    pub what: &'static str,
    /// A description of what the figure shows.
    pub title: String,
    /// The source line that the figure is about: file and line.
    pub source: Option<(String, u32)>,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The grids, from top to bottom.
    pub grids: Vec<Grid>,
    /// Source lines, each with its numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listing: Option<Listing>,
    /// The counts, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// Additional remarks.
    pub notes: Vec<String>,
}

/// Source lines in the order of the files, each with its numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// The headings of the numbers, in a word or two.
    pub columns: Vec<&'static str>,
    /// The lines.
    pub lines: Vec<Line>,
}

impl Listing {
    /// Keeps only the `most` lines whose first numbers are largest. The order of these lines does not change.
    pub fn keep_costliest(&mut self, most: usize) {
        let mut counts: Vec<u64> = self.lines.iter().filter_map(|line| line.counts.first().copied()).collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let least = most.checked_sub(1).and_then(|last| counts.get(last).copied()).unwrap_or(0).max(1);
        self.lines.retain(|line| line.counts.first().is_some_and(|count| *count >= least));
        self.lines.truncate(most);
    }
}

/// A source line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// File and line; `None` for instructions without a source line in the PTX.
    pub source: Option<(String, u32)>,
    /// The text of the line. It stays empty until a caller that has the file fills it in.
    pub text: String,
    /// A number for each column.
    pub counts: Vec<u64>,
    /// The PTX instructions compiled from the line.
    pub ptx: Vec<PtxLine>,
}

/// A line of the PTX.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PtxLine {
    /// The line number, from 1.
    pub line: u32,
    /// The instruction.
    pub text: String,
    /// A number for each column.
    pub counts: Vec<u64>,
}

/// Rows of cells under common columns.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Grid {
    /// A description of what the grid shows.
    pub caption: String,
    /// The headings of the columns.
    pub columns: Vec<String>,
    /// The number of columns in a visual group.
    pub together: usize,
    /// The rows, from top to bottom.
    pub rows: Vec<FigureRow>,
    /// Arrows between cells.
    pub arrows: Vec<Arrow>,
}

/// A row of a grid.
#[derive(Clone, Debug, Serialize)]
pub struct FigureRow {
    /// The heading of the row.
    pub label: String,
    /// A cell for each column.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The text of the cell: a few characters.
    pub text: String,
    /// The appearance of the cell.
    pub shade: Shade,
}

impl Cell {
    /// Creates a cell with the displayed form of `text`.
    pub fn new(text: impl ToString, shade: Shade) -> Self {
        Self { text: text.to_string(), shade }
    }
}

/// The appearance of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shade {
    /// The cell is empty.
    #[default]
    Empty,
    /// Data that moves without being requested, or a lane that does not participate.
    Idle,
    /// Data that is used in the first turn.
    Used,
    /// Data that is used in a later turn, with the number of preceding turns.
    Turn(usize),
}

/// An arrow from a cell of a row to a cell of the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Arrow {
    /// The number of the row in which the arrow begins.
    pub row: usize,
    /// The column in which the arrow begins.
    pub from: usize,
    /// The column of the next row in which the arrow ends.
    pub to: usize,
}
