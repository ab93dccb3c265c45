//! Colors and tables. All text is styled when it is created. The styles are removed if the output is not a terminal.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};

pub(super) const OPCODE: Style = AnsiColor::Blue.on_default().bold();
pub(super) const REGISTER: Style = AnsiColor::Cyan.on_default();
pub(super) const DIRECTIVE: Style = AnsiColor::Magenta.on_default();
pub(super) const LABEL: Style = AnsiColor::Yellow.on_default();
pub(super) const NUMBER: Style = AnsiColor::Green.on_default();
/// The style of comments and less important text.
pub(super) const DIM: Style = Style::new().dimmed();
/// The style of source lines.
pub(super) const SOURCE: Style = AnsiColor::Green.on_default().bold();
/// The style of correct or added text.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of wrong or removed text.
pub(super) const BAD: Style = AnsiColor::Red.on_default();

/// Returns the text in a style.
pub(super) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes a status line: a word in bold, and its subject.
pub(super) fn status(err: &mut dyn Write, word: &str, about: &str) {
    let word = paint(AnsiColor::Green.on_default().bold(), format_args!("{word:>12}"));
    // If stderr itself fails, there is no way to report the error.
    let _ = writeln!(err, "{word} {about}");
}

/// Formats a table as text, with the columns in `numbers` aligned to the right and without trailing blanks.
pub(super) fn table<const N: usize>(
    header: [&str; N],
    numbers: std::ops::Range<usize>,
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty();
    table.set_header(header).add_rows(rows);
    for column in table.column_iter_mut().take(numbers.end).skip(numbers.start) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines();
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}
