//! Grids as text.

use std::fmt::Write as _;

use analysis::explain::{Cell, Grid, Shade};
use anstyle::{AnsiColor, Style};

use crate::output::OutputStyle;

/// A grid in so many columns of characters. Where that is not enough, it is cut into parts of fewer columns, one below the
/// other, without those that are empty.
pub(super) fn grid(grid: &Grid, style: OutputStyle, available: usize) -> String {
    let width = |text: &String| text.chars().count();
    let rows = grid.rows.iter();
    let texts = rows.clone().flat_map(|row| row.cells.iter().map(|cell| width(&cell.text)));
    let cell = texts.chain(grid.columns.iter().map(width)).max().unwrap_or(0);
    let label = rows.map(|row| width(&row.label)).max().unwrap_or(0).max("from".len());
    let together = grid.together.max(1);
    let line = |columns: usize| label + columns * (cell + 1) + columns.div_ceil(together) * 2;
    let mut columns = grid.columns.len();
    while columns > 1 && line(columns) > available {
        columns = columns.div_ceil(2);
    }
    let mut text = String::new();
    for first in (0..grid.columns.len()).step_by(columns.max(1)) {
        let part = first..grid.columns.len().min(first + columns);
        let mut cells = grid.rows.iter().flat_map(|row| row.cells.get(part.clone()).unwrap_or_default());
        if cells.all(|cell| cell.shade == Shade::Empty) {
            continue;
        }
        let mut row = |name: &str, own: &dyn Fn(usize) -> (String, Style)| {
            let mut line = format!("{name:>label$}");
            for column in part.clone() {
                line += if column == part.start || column % together == 0 { " │" } else { "" };
                let (text, style) = own(column);
                let _ = write!(line, " {style}{text:>cell$}{style:#}");
            }
            text += &format!("{}\n", line.trim_end());
        };
        let quiet = if style.terminal { Style::new().dimmed() } else { Style::new() };
        row("", &|column| (grid.columns[column].clone(), quiet));
        for (number, own) in grid.rows.iter().enumerate() {
            let arrives =
                |column: usize| grid.arrows.iter().find(|arrow| arrow.row + 1 == number && arrow.to == column);
            if grid.arrows.iter().any(|arrow| arrow.row + 1 == number) {
                row("from", &|column| (arrives(column).map_or(String::new(), |own| own.from.to_string()), quiet));
            }
            let look = |cell: &Cell| if style.terminal { look(cell.shade) } else { Style::new() };
            row(&own.label, &|column| {
                own.cells.get(column).map_or_else(Default::default, |cell| (cell.text.clone(), look(cell)))
            });
        }
    }
    text
}

/// How a cell looks on a terminal; turns after the first are in colours of their own.
fn look(shade: Shade) -> Style {
    let on = |color: AnsiColor| Style::new().fg_color(Some(AnsiColor::Black.into())).bg_color(Some(color.into()));
    match shade {
        Shade::Empty => Style::new(),
        Shade::Idle => Style::new().dimmed(),
        Shade::Used => on(AnsiColor::Green),
        Shade::Turn(turn) => {
            const LATER: [AnsiColor; 4] = [AnsiColor::Yellow, AnsiColor::Magenta, AnsiColor::Cyan, AnsiColor::Red];
            on(LATER[turn.saturating_sub(1) % LATER.len()])
        }
    }
}
