//! Colours. Everything is styled where it is made; `anstream` takes the styles out when the output is no
//! terminal or `NO_COLOR` is set.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Opcodes and mnemonics.
pub const OPCODE: Style = AnsiColor::Blue.on_default().bold();
/// Registers.
pub const REGISTER: Style = AnsiColor::Cyan.on_default();
/// Directives.
pub const DIRECTIVE: Style = AnsiColor::Magenta.on_default();
/// Labels.
pub const LABEL: Style = AnsiColor::Yellow.on_default();
/// Numbers.
pub const NUMBER: Style = AnsiColor::Green.on_default();
/// Comments, and whatever is beside the point.
pub const DIM: Style = Style::new().dimmed();
/// Source lines.
pub const SOURCE: Style = AnsiColor::Green.on_default().bold();
/// What is right or was added.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is wrong or was taken away.
pub const BAD: Style = AnsiColor::Red.on_default();
/// What changed.
pub const CHANGED: Style = AnsiColor::Yellow.on_default();
/// Headings and status words.
pub const BOLD: Style = Style::new().bold();

/// The text in a style.
#[must_use]
pub fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A status line on standard error: a word in bold, and what it is about.
pub fn status(word: &str, rest: impl Display) {
    anstream::eprintln!(
        "{} {rest}",
        paint(
            AnsiColor::Green.on_default().bold(),
            format_args!("{word:>12}")
        )
    );
}
