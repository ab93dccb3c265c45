//! Figures with the texts of their source lines.

use profile::Recording;
use profile::figures::{DRAWINGS, Figure};
use serde::Serialize;

use crate::sources::SourceFiles;

/// A figure with the texts of its source lines.
#[derive(Debug, Serialize)]
pub struct Sourced {
    /// The figure.
    #[serde(flatten)]
    pub figure: Figure,
    /// The source line: `src/reduce/smem.rs:12  let value = …`. Empty if the PTX does not name a line.
    pub line: String,
}

impl Sourced {
    /// Creates a figure whose source lines have the texts of these files.
    pub fn new(mut figure: Figure, files: &mut SourceFiles) -> Self {
        let source = figure.source.as_ref();
        let line = source.map_or(String::new(), |(path, line)| files.with_text(path, *line));
        for entry in figure.listing.iter_mut().flat_map(|listing| &mut listing.lines) {
            if let Some((path, line)) = &mut entry.source {
                entry.text = match line {
                    0 => "(instructions of several lines)".to_owned(),
                    _ => files.indented(path, *line).unwrap_or_default().to_owned(),
                };
                *path = files.path_shown(path);
            }
        }
        Self { figure, line }
    }

    /// Removes the PTX below each source line. Instructions without a source line keep their PTX.
    pub fn leave_out_ptx(&mut self) {
        let lines = self.figure.listing.iter_mut().flat_map(|listing| &mut listing.lines);
        lines.filter(|line| line.source.is_some()).for_each(|line| line.ptx.clear());
    }
}

/// Returns the counts of a figure in one line: `lanes 32, sectors 4`.
pub fn counts(figure: &Figure) -> String {
    let counts = figure.counts.iter().map(|(name, count)| format!("{name} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// The maximum number of source lines and of grid rows in [`worst`].
const LINES: usize = 8;
const ROWS: usize = 12;

/// Returns the figure of this kind with the most wavefronts or sectors, shortened to fit next to a verdict. For a
/// launch without such a figure, returns the figure of its accesses or its source. Returns `None` if no figure of these
/// kinds can be drawn.
pub fn worst(recording: &Recording, kind: &str, files: &mut SourceFiles) -> Option<Sourced> {
    let draw = |name: &str| {
        let drawing = DRAWINGS.iter().find(|drawing| drawing.name == name)?;
        (drawing.draw)(recording).into_iter().max_by_key(cost)
    };
    let mut figure = [kind, "access", "source"].into_iter().find_map(draw)?;
    // The last grid of a banks figure shows the wavefronts. For other figures, the first grid is the most important
    // one.
    let grids = std::mem::take(&mut figure.grids);
    figure.grids =
        if kind == "banks" { grids.into_iter().last() } else { grids.into_iter().next() }.into_iter().collect();
    if let Some(listing) = &mut figure.listing {
        listing.keep_costliest(LINES);
    }
    for grid in figure.grids.iter_mut().filter(|grid| grid.rows.len() > ROWS) {
        grid.caption += &format!("; the first {ROWS} of {} rows", grid.rows.len());
        grid.rows.truncate(ROWS);
    }
    let mut sourced = Sourced::new(figure, files);
    sourced.leave_out_ptx();
    sourced.figure.notes.clear();
    Some(sourced)
}

/// Returns the cost by which figures of a kind are compared: wavefronts, sectors, or the first count.
fn cost(figure: &Figure) -> u64 {
    let of = |name: &str| figure.counts.iter().find(|(counted, _)| *counted == name).map(|(_, count)| *count);
    let first = || figure.counts.first().map(|(_, count)| *count);
    of("wavefronts").or(of("sectors")).or(first()).unwrap_or(0)
}
