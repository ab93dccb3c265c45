//! Figures as SVG, one below another. Text and lines have the color of the surrounding text, which adapts to light
//! pages, dark pages and print.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use profile::figures::{Grid, Line, Listing, Shade};

use crate::figures::{Sourced, counts};
use crate::text::{escaped, wrapped};

/// The size of a cell, and the width of the labels of a row, in pixels.
const CELL: (usize, usize) = (26, 21);
const LABEL: usize = 150;
/// The width of the page: 32 cells, the labels, and margins.
const WIDTH: usize = LABEL + 32 * CELL.0 + 24;
/// The height of a line of text, and of the space for arrows.
const LINE: usize = 21;
const ARROWS: usize = 60;
/// The width of a character, rounded up.
const CHARACTER: usize = 9;
/// The maximum length of a text for which cells become wider.
const UNSQUEEZED: usize = 5;
/// The maximum number of characters in a line of text.
const CHARACTERS: usize = (WIDTH - 24) / CHARACTER;

const STYLE: &str = "\
svg{color:#1b1b1b;background:#fff;font:14px ui-monospace,monospace}
text{fill:currentColor}.h{font-size:15px;font-weight:bold}.q{opacity:.65}.m{text-anchor:middle}.e{text-anchor:end}.p{white-space:pre}
rect,.c{stroke:currentColor;stroke-opacity:.25;fill:none}.b{stroke:none}.a{stroke:currentColor;stroke-opacity:.7}
.idle{fill:#888;fill-opacity:.2}.used{fill:#1a9850;fill-opacity:.45}
.t0{fill:#e6a700;fill-opacity:.6}.t1{fill:#c2549d;fill-opacity:.55}.t2{fill:#3a86c8;fill-opacity:.55}.t3{fill:#d73027;fill-opacity:.5}
@media (prefers-color-scheme:dark){svg{color:#e8e8e8;background:#161616}}
@media print{svg{color:#000;background:#fff}}
";

/// Returns the contents of an SVG file.
pub fn document(title: &str, figures: &[Sourced]) -> String {
    let (mut body, mut y) = (String::new(), 12);
    line_of_text(&mut body, title, "h", &mut y);
    for (number, Sourced { figure, line }) in figures.iter().enumerate() {
        y += LINE;
        let name = format!("{}: {}", figure.what, figure.title);
        let mut words: Vec<String> = vec![counts(figure)];
        words.extend(figure.notes.iter().cloned());
        let captions = figure.grids.iter().map(|grid| grid.caption.as_str());
        let most = figure.listing.as_ref().map(most_of_all);
        let lines = [line.as_str()].into_iter().chain(most.as_deref()).filter(|line| !line.is_empty());
        let described: Vec<&str> = captions.chain(lines).chain(words.iter().map(String::as_str)).collect();
        let _ = writeln!(
            body,
            "<g role=\"img\" aria-labelledby=\"title{number} desc{number}\">\n<title id=\"title{number}\">{}</title>\n\
             <desc id=\"desc{number}\">{}</desc>",
            escaped(&name),
            escaped(&described.join("; ")),
        );
        lines_of_text(&mut body, &name, "h", &mut y);
        if !line.is_empty() {
            line_of_text(&mut body, line, "", &mut y);
        }
        for grid in &figure.grids {
            lines_of_text(&mut body, &grid.caption, "q", &mut y);
            y = draw_grid(&mut body, grid, y + 4);
        }
        if let Some(listing) = &figure.listing {
            y = draw_listing(&mut body, listing, y);
        }
        words.iter().for_each(|text| lines_of_text(&mut body, text, "", &mut y));
        body += "</g>\n";
    }
    let (height, title) = (y + LINE, escaped(title));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n{body}</svg>\n"
    )
}

/// Writes a line of text below `y`.
fn line_of_text(body: &mut String, text: &str, class: &str, y: &mut usize) {
    *y += LINE;
    let _ = writeln!(body, r#"<text x="12" y="{y}" class="{class}">{}</text>"#, escaped(&cut(text)));
}

/// Writes text below `y`, broken into lines.
fn lines_of_text(body: &mut String, text: &str, class: &str, y: &mut usize) {
    wrapped(text, CHARACTERS).iter().for_each(|line| line_of_text(body, line, class, y));
}

/// Draws source lines from `y` on: their numbers, a bar for the first number, and the text.
fn draw_listing(body: &mut String, listing: &Listing, mut y: usize) -> usize {
    const NUMBER: usize = 100;
    let end = |column: usize| 12 + (column + 1) * NUMBER;
    let left = end(listing.columns.len().saturating_sub(1)) + 16;
    let room = (WIDTH - left) / CHARACTER;
    let first = |counts: &[u64]| counts.first().copied().unwrap_or(0);
    let largest = listing.lines.iter().map(|line| first(&line.counts)).max().unwrap_or(0).max(1);
    y += LINE;
    for (column, name) in listing.columns.iter().enumerate() {
        let _ = writeln!(body, r#"<text x="{}" y="{y}" class="q e">{name}</text>"#, end(column));
    }
    let row = |body: &mut String, counts: &[u64], text: &str, class: &str, y: usize| {
        for (column, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let _ = writeln!(body, r#"<text x="{}" y="{y}" class="e {class}">{count}</text>"#, end(column));
        }
        let text: String = text.chars().take(room).collect();
        let _ = writeln!(body, r#"<text x="{left}" y="{y}" class="p {class}">{}</text>"#, escaped(&text));
    };
    let mut file = "";
    for line in &listing.lines {
        let (path, number) = line.source.as_ref().map_or(("no source line", 0), |(path, line)| (path, *line));
        if path != file {
            file = path;
            y += LINE;
            row(body, &[], path, "q", y);
        }
        y += LINE;
        let bar = (first(&line.counts) as f64 / largest as f64 * (NUMBER - 8) as f64).round();
        let (x, top) = (end(0) as f64 + 2.0 - bar, y - LINE + 5);
        let _ = writeln!(body, r#"<rect x="{x}" y="{top}" width="{bar}" height="{}" class="used b"/>"#, LINE - 2);
        row(body, &line.counts, &format!("{number:>4} {}", line.text), "", y);
        for instruction in &line.ptx {
            y += LINE - 4;
            row(body, &instruction.counts, &format!("       {}", instruction.text), "q", y);
        }
    }
    y + 6
}

/// Names the line of a listing with the largest first number.
fn most_of_all(listing: &Listing) -> String {
    let mut lines: Vec<_> = listing.lines.iter().filter(|line| line.source.is_some()).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.counts.first().copied()));
    let line = |line: &&Line| {
        let (path, number) = line.source.as_ref().map_or(("", 0), |(path, line)| (path, *line));
        let count = line.counts.first().copied().unwrap_or(0);
        format!("{path}:{number} has {count} {}", listing.columns.first().copied().unwrap_or_default())
    };
    lines.iter().take(3).map(line).collect::<Vec<_>>().join(", ")
}

/// Draws a grid from `y` on, and returns the position of its lower edge.
fn draw_grid(body: &mut String, grid: &Grid, mut y: usize) -> usize {
    // All columns must fit.
    let count = grid.columns.len().max(1);
    let room = (32 * CELL.0).saturating_sub(count / grid.together.max(1) * 4) / count;
    // With few columns, cells become wider if short texts then fit without being squeezed.
    let texts = grid.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.text.chars().count());
    let needed = texts.max().filter(|longest| *longest <= UNSQUEEZED).map_or(0, |longest| longest * CHARACTER + 4);
    let wide = if needed <= room { CELL.0.max(needed) } else { CELL.0 };
    let wide = wide.min(room + 1).max(6);
    // Squeezes a text that is too wide.
    let squeezed = |text: &str| match text.chars().count() * CHARACTER > wide {
        true => format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", wide - 2),
        false => String::new(),
    };
    // A few pixels separate groups of columns.
    let left = |column: usize| 12 + LABEL + column * (wide - 1) + column / grid.together.max(1) * 4;
    let middle = |column: usize| left(column) + wide / 2;
    y += if grid.columns.iter().all(String::is_empty) { 0 } else { LINE - 6 };
    for (column, name) in grid.columns.iter().enumerate() {
        if !name.is_empty() {
            let (x, squeezed, name) = (middle(column), squeezed(name), escaped(name));
            let _ = writeln!(body, r#"<text x="{x}" y="{y}" class="q m"{squeezed}>{name}</text>"#);
        }
    }
    y += 4;
    for (number, row) in grid.rows.iter().enumerate() {
        // If squeezing would make texts unreadable, they are drawn vertically in taller cells.
        let most = row.cells.iter().map(|cell| cell.text.chars().count() * CHARACTER).max().unwrap_or(0);
        let is_upright = wide == CELL.0 && most > 2 * wide;
        let high = if is_upright { most + 8 } else { CELL.1 };
        let (end, baseline) = (LABEL, y + high - 5);
        let _ = writeln!(body, r#"<text x="{end}" y="{baseline}" class="q e">{}</text>"#, escaped(&row.label));
        // A figure has thousands of cells. Equal cells of a row share a path, and the texts of a row share an element.
        let (mut paths, mut texts, mut upright) = (BTreeMap::<String, String>::new(), String::new(), String::new());
        for (column, cell) in row.cells.iter().enumerate() {
            let class = match cell.shade {
                Shade::Empty => String::new(),
                Shade::Idle => " idle".to_owned(),
                Shade::Used => " used".to_owned(),
                Shade::Turn(turn) => format!(" t{}", turn.saturating_sub(1) % 4),
            };
            let _ = write!(paths.entry(class).or_default(), "M{} {y}h{wide}v{high}h-{wide}z", left(column));
            if is_upright && !cell.text.is_empty() {
                let (x, y, text) = (middle(column) + 4, y + high / 2, escaped(&cell.text));
                let _ =
                    writeln!(upright, r#"<text transform="translate({x} {y}) rotate(-90)" class="m">{text}</text>"#);
            } else if !cell.text.is_empty() {
                let (x, squeezed, text) = (middle(column), squeezed(&cell.text), escaped(&cell.text));
                let _ = write!(texts, r#"<tspan x="{x}"{squeezed}>{text}</tspan>"#);
            }
        }
        for (class, path) in paths {
            let _ = writeln!(body, r#"<path class="c{class}" d="{path}"/>"#);
        }
        *body += &upright;
        if !texts.is_empty() {
            let _ = writeln!(body, r#"<text y="{baseline}" class="m">{texts}</text>"#);
        }
        y += high;
        let (mut lines, mut heads) = (String::new(), String::new());
        for arrow in grid.arrows.iter().filter(|arrow| arrow.row == number) {
            let (from, to, end) = (middle(arrow.from), middle(arrow.to), y + ARROWS);
            let _ = write!(lines, "M{from} {y}L{to} {end}");
            let _ = write!(heads, "M{} {}L{to} {end}l3 -6", to - 3, end - 6);
        }
        if !lines.is_empty() {
            let _ = writeln!(body, r#"<path class="a" d="{lines}"/><path d="{heads}" fill="currentColor"/>"#);
            y += ARROWS;
        }
    }
    y
}

/// Returns the start of a text that fits in a line.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
