//! Draws grids and listings as text.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use profile::figures::{Arrow, Cell, Grid, Line, Listing, Shade};

use crate::output::OutputStyle;

/// Draws a grid. If it is too wide, it is split into parts with fewer columns, one below another; empty parts are left
/// out.
pub(super) fn grid(grid: &Grid, style: OutputStyle) -> String {
    let width = |text: &String| text.chars().count();
    let rows = grid.rows.iter();
    let texts = rows.clone().flat_map(|row| row.cells.iter().map(|cell| width(&cell.text)));
    let cell = texts.chain(grid.columns.iter().map(width)).max().unwrap_or(0);
    let label = rows.map(|row| width(&row.label)).max().unwrap_or(0).max("from".len());
    let together = grid.together.max(1);
    let line = |columns: usize| label + columns * (cell + 1) + columns.div_ceil(together) * 2;
    let mut columns = grid.columns.len();
    while columns > 1 && line(columns) > style.width {
        columns = columns.div_ceil(2);
    }
    let mut text = String::new();
    for first in (0..grid.columns.len()).step_by(columns.max(1)) {
        let part = first..grid.columns.len().min(first + columns);
        let mut cells = grid.rows.iter().flat_map(|row| row.cells.get(part.clone()).unwrap_or_default());
        if cells.all(|cell| cell.shade == Shade::Empty) {
            continue;
        }
        let mut row = |name: &str, content: &dyn Fn(usize) -> (String, Style)| {
            let mut line = format!("{name:>label$}");
            for column in part.clone() {
                line += if column == part.start || column % together == 0 { " │" } else { "" };
                let (text, style) = content(column);
                let _ = write!(line, " {style}{text:>cell$}{style:#}");
            }
            text += &format!("{}\n", line.trim_end());
        };
        let quiet = if style.terminal { Style::new().dimmed() } else { Style::new() };
        if part.clone().any(|column| !grid.columns[column].is_empty()) {
            row("", &|column| (grid.columns[column].clone(), quiet));
        }
        for (number, grid_row) in grid.rows.iter().enumerate() {
            let arrives = |column: usize| arrows(grid, number, column);
            let most = part.clone().map(|column| arrives(column).len()).max().unwrap_or(0).min(ARROWS);
            for index in 0..most {
                let source =
                    |column: usize| arrives(column).get(index).map_or("", |arrow| from(grid, arrow)).to_owned();
                row(if index == 0 { "from" } else { "and" }, &|column| (source(column), quiet));
            }
            let look = |cell: &Cell| if style.terminal { look(cell.shade) } else { Style::new() };
            row(&grid_row.label, &|column| {
                grid_row.cells.get(column).map_or_else(Default::default, |cell| (cell.text.clone(), look(cell)))
            });
        }
    }
    text
}

/// The maximum number of arrows that are shown for a cell.
const ARROWS: usize = 3;

/// Returns the arrows to a cell. If any of them comes from another column, arrows from the same column are left out.
fn arrows(grid: &Grid, row: usize, column: usize) -> Vec<&Arrow> {
    let to_it = grid.arrows.iter().filter(|arrow| arrow.row + 1 == row && arrow.to == column);
    let all: Vec<&Arrow> = to_it.collect();
    let moves: Vec<&Arrow> = all.iter().copied().filter(|arrow| arrow.from != arrow.to).collect();
    if moves.is_empty() { all } else { moves }
}

/// Returns the start of an arrow: the heading of its column, or else the text of its cell.
fn from<'a>(grid: &'a Grid, arrow: &Arrow) -> &'a str {
    let heading = grid.columns.get(arrow.from).map_or("", String::as_str);
    let cell = grid.rows.get(arrow.row).and_then(|row| row.cells.get(arrow.from));
    if heading.is_empty() { cell.map_or("", |cell| &cell.text) } else { heading }
}

/// Draws lines with their counts, below the name of each file. If the style is narrow, the counts follow on a separate
/// line.
pub(super) fn listing(listing: &Listing, style: OutputStyle) -> String {
    let digits = |column: usize, name: &str| {
        let lines = listing.lines.iter().flat_map(|line| {
            line.ptx.iter().map(|line| &line.counts).chain([&line.counts]).filter_map(|counts| counts.get(column))
        });
        lines.map(|count| count.to_string().len()).max().unwrap_or(0).max(name.len())
    };
    let widths: Vec<usize> = listing.columns.iter().enumerate().map(|(column, name)| digits(column, name)).collect();
    let lead: usize = widths.iter().map(|width| width + 1).sum();
    let is_wide = style.width >= lead + 48;
    let quiet = if style.terminal { Style::new().dimmed() } else { Style::new() };
    let numbers = |counts: &[u64]| match is_wide {
        true => counts.iter().zip(&widths).fold(String::new(), |text, (count, width)| {
            let count = if *count == 0 { "·".to_owned() } else { count.to_string() };
            text + &format!("{count:>width$} ")
        }),
        false => {
            let named = listing.columns.iter().zip(counts).filter(|(_, count)| **count > 0);
            named.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        }
    };
    let cut = |text: &str| match text.char_indices().nth(style.width.saturating_sub(if is_wide { lead } else { 0 } + 1))
    {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let mut text = String::new();
    if is_wide {
        let heads = listing.columns.iter().zip(&widths);
        let heads = heads.fold(String::new(), |text, (name, width)| text + &format!("{name:>width$} "));
        text += &format!("{quiet}{}{quiet:#}\n", heads.trim_end());
    }
    let mut show = |counts: &[u64], line: String, style: Style| {
        let line = cut(&line);
        text += &match is_wide {
            _ if counts.is_empty() => format!("{style}{line}{style:#}\n"),
            true => format!("{}{style}{line}{style:#}\n", numbers(counts)),
            false => format!("{style}{line}{style:#}\n      {quiet}{}{quiet:#}\n", numbers(counts)),
        };
    };
    let mut file = "";
    for Line { source, text: line, counts, ptx } in &listing.lines {
        let (path, number) = source.as_ref().map_or(("no source line", 0), |(path, line)| (path, *line));
        if path != file {
            file = path;
            show(&[], path.to_owned(), quiet);
        }
        show(counts, format!("{number:>5} {line}"), Style::new());
        for instruction in ptx {
            show(&instruction.counts, format!("      {:>5} {}", instruction.line, instruction.text), quiet);
        }
    }
    text
}

/// Returns the style of a cell on a terminal. Each wavefront after the first has a different color.
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
