//! What a figure is: grids of cells with arrows between them, and words.

use serde::Serialize;

use super::record::Recording;

/// A kind of figure.
#[derive(Debug)]
pub struct Drawing {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Draws all that a recording has of this kind.
    pub draw: fn(&Recording) -> Vec<Figure>,
}

/// A figure.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    /// The kind of figure: the name of its [`Drawing`].
    pub what: &'static str,
    /// What it shows.
    pub title: String,
    /// The source line that it is about: file and line.
    pub source: Option<(String, u32)>,
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// Its grids, from top to bottom.
    pub grids: Vec<Grid>,
    /// Lines of the source, with numbers beside each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listing: Option<Listing>,
    /// What is counted in it, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// Lines of the source in the order of the files, with numbers beside each.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// What the numbers are, in a word or two.
    pub columns: Vec<&'static str>,
    /// The lines.
    pub lines: Vec<Line>,
}

impl Listing {
    /// Keeps the `most` lines with the largest first number, in their order.
    pub fn keep_costliest(&mut self, most: usize) {
        let mut counts: Vec<u64> = self.lines.iter().filter_map(|line| line.counts.first().copied()).collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let least = most.checked_sub(1).and_then(|last| counts.get(last).copied()).unwrap_or(0).max(1);
        self.lines.retain(|line| line.counts.first().is_some_and(|count| *count >= least));
        self.lines.truncate(most);
    }
}

/// A line of the source.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// File and line; `None` for instructions of which the PTX does not say it.
    pub source: Option<(String, u32)>,
    /// Its text, which somebody writes who has the file.
    pub text: String,
    /// A number for each column.
    pub counts: Vec<u64>,
    /// The instructions that come from it.
    pub ptx: Vec<PtxLine>,
}

/// A line of the PTX.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PtxLine {
    /// Its number, from 1.
    pub line: u32,
    /// The instruction.
    pub text: String,
    /// A number for each column.
    pub counts: Vec<u64>,
}

/// Rows of cells under common columns.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Grid {
    /// What it shows.
    pub caption: String,
    /// The headings of the columns.
    pub columns: Vec<String>,
    /// How many columns belong together.
    pub together: usize,
    /// The rows, from top to bottom.
    pub rows: Vec<FigureRow>,
    /// Arrows between cells.
    pub arrows: Vec<Arrow>,
}

/// A row of a grid.
#[derive(Clone, Debug, Serialize)]
pub struct FigureRow {
    /// What the row is.
    pub label: String,
    /// A cell for each column.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// What stands in it: a few characters.
    pub text: String,
    /// How it looks.
    pub shade: Shade,
}

impl Cell {
    /// A cell with what displays as this.
    pub fn new(text: impl ToString, shade: Shade) -> Self {
        Self { text: text.to_string(), shade }
    }
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shade {
    /// Nothing is there.
    #[default]
    Empty,
    /// It is moved, and nobody asked for it; or a lane takes no part.
    Idle,
    /// It is used, in the first turn.
    Used,
    /// It is used in a later turn: the number of turns before.
    Turn(usize),
}

/// An arrow from a cell of a row to a cell of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Arrow {
    /// The number of the row that it begins in.
    pub row: usize,
    /// The column that it begins in.
    pub from: usize,
    /// The column of the next row that it ends in.
    pub to: usize,
}
