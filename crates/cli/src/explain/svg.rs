//! Figures as SVG, one below the other. Text and lines have the colour of the text around them, which follows a light or a
//! dark page, and print.

use std::fmt::Write as _;

use analysis::explain::{Grid, Shade};

use super::{Sourced, counts};

/// The size of a cell, and the width of the labels before a row, in pixels.
const CELL: (usize, usize) = (26, 18);
const LABEL: usize = 150;
/// The width of the page: 32 cells, the labels, and margins.
const WIDTH: usize = LABEL + 32 * CELL.0 + 24;
/// The height of a line of text, and of the space that arrows have.
const LINE: usize = 18;
const ARROWS: usize = 60;
/// The most characters of a line of text that fit.
const CHARACTERS: usize = 130;

const STYLE: &str = "\
svg{color:#1b1b1b;background:#fff;font:11px ui-monospace,monospace}
text{fill:currentColor}.h{font-size:13px;font-weight:bold}.q{opacity:.65}.m{text-anchor:middle}.e{text-anchor:end}
rect{stroke:currentColor;stroke-opacity:.25;fill:none}line{stroke:currentColor;stroke-opacity:.7}
.idle{fill:#888;fill-opacity:.2}.used{fill:#1a9850;fill-opacity:.45}
.t0{fill:#e6a700;fill-opacity:.6}.t1{fill:#c2549d;fill-opacity:.55}.t2{fill:#3a86c8;fill-opacity:.55}.t3{fill:#d73027;fill-opacity:.5}
@media (prefers-color-scheme:dark){svg{color:#e8e8e8;background:#161616}}
@media print{svg{color:#000;background:#fff}}
";

/// The text of an SVG file.
pub(crate) fn document(title: &str, figures: &[Sourced]) -> String {
    let (mut body, mut y) = (String::new(), 12);
    line_of_text(&mut body, title, "h", &mut y);
    for (number, Sourced { figure, line }) in figures.iter().enumerate() {
        y += LINE;
        let name = format!("{}: {}", figure.what, figure.title);
        let mut words: Vec<String> = vec![counts(figure)];
        words.extend(figure.notes.iter().cloned());
        let captions = figure.grids.iter().map(|grid| grid.caption.as_str());
        let described: Vec<&str> = captions.chain([line.as_str()]).chain(words.iter().map(String::as_str)).collect();
        let _ = writeln!(
            body,
            "<g role=\"img\" aria-labelledby=\"title{number} desc{number}\">\n<title id=\"title{number}\">{}</title>\n\
             <desc id=\"desc{number}\">{}</desc>",
            escaped(&name),
            escaped(&described.join("; ")),
        );
        line_of_text(&mut body, &name, "h", &mut y);
        if !line.is_empty() {
            line_of_text(&mut body, line, "", &mut y);
        }
        for grid in &figure.grids {
            line_of_text(&mut body, &grid.caption, "q", &mut y);
            y = drawn(&mut body, grid, y + 4);
        }
        words.iter().for_each(|text| line_of_text(&mut body, text, "", &mut y));
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

/// Draws a grid from `y` on, and returns where it ends.
fn drawn(body: &mut String, grid: &Grid, mut y: usize) -> usize {
    let (wide, high) = CELL;
    // A few pixels separate the columns that belong together.
    let left = |column: usize| 12 + LABEL + column * (wide - 1) + column / grid.together.max(1) * 4;
    let middle = |column: usize| left(column) + wide / 2;
    y += LINE - 6;
    for (column, name) in grid.columns.iter().enumerate() {
        let _ = writeln!(body, r#"<text x="{}" y="{y}" class="q m">{}</text>"#, middle(column), escaped(name));
    }
    y += 4;
    for (number, row) in grid.rows.iter().enumerate() {
        let (end, baseline) = (LABEL, y + high - 5);
        let _ = writeln!(body, r#"<text x="{end}" y="{baseline}" class="q e">{}</text>"#, escaped(&row.label));
        for (column, cell) in row.cells.iter().enumerate() {
            let class = match cell.shade {
                Shade::Empty => String::new(),
                Shade::Idle => " class=\"idle\"".to_owned(),
                Shade::Used => " class=\"used\"".to_owned(),
                Shade::Turn(turn) => format!(" class=\"t{}\"", turn.saturating_sub(1) % 4),
            };
            let _ = writeln!(body, r#"<rect x="{}" y="{y}" width="{wide}" height="{high}"{class}/>"#, left(column));
            if !cell.text.is_empty() {
                // A text that is too wide is squeezed.
                let squeezed = if cell.text.chars().count() > 3 {
                    format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", wide - 2)
                } else {
                    String::new()
                };
                let text = escaped(&cell.text);
                let _ =
                    writeln!(body, r#"<text x="{}" y="{baseline}" class="m"{squeezed}>{text}</text>"#, middle(column));
            }
        }
        y += high;
        let arrows = grid.arrows.iter().filter(|arrow| arrow.row == number);
        let mut has_arrows = false;
        for arrow in arrows {
            has_arrows = true;
            let (from, to, end) = (middle(arrow.from), middle(arrow.to), y + ARROWS);
            let _ = writeln!(body, r#"<line x1="{from}" y1="{y}" x2="{to}" y2="{end}"/>"#);
            let (a, b, above) = (to - 3, to + 3, end - 6);
            let _ = writeln!(body, r#"<path d="M{a} {above}L{to} {end}L{b} {above}" fill="currentColor"/>"#);
        }
        y += if has_arrows { ARROWS } else { 0 };
    }
    y
}

/// The beginning of a text that fits.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
