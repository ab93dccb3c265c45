//! Prints errors that have no place in a source text, as labeled lines.

use std::io::Write;

use anstyle::{AnsiColor, Style};

/// Writes an error as rustc does: the message, followed by a line for each `note:` and `help:`.
///
/// A message is one text, so that it can also be part of another message: `message: it is the reason; what to do`. Text
/// after `: it ` or `: they ` is a note. Text after a semicolon is a note if it begins with `note: `, `it `, `they ` or
/// `there `, and help otherwise.
pub fn print_error(err: &mut dyn Write, message: &str) {
    for (label, text) in labeled(message) {
        let color = match label {
            "error" => AnsiColor::Red,
            "note" => AnsiColor::Green,
            _ => AnsiColor::Cyan,
        };
        let style = Style::new().bold().fg_color(Some(color.into()));
        // If stderr is closed, only the exit code can report the error.
        let _ = writeln!(err, "{style}{label}:{style:#} {text}");
    }
}

/// Splits an error into lines, each with its label. Text in backticks or parentheses is not split.
fn labeled(message: &str) -> Vec<(&'static str, &str)> {
    let (mut lines, mut start, mut label) = (Vec::new(), 0, "error");
    let (mut is_quoted, mut depth) = (false, 0_usize);
    for (place, character) in message.char_indices() {
        match character {
            '`' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        let rest = &message[place..];
        let (next, separator) = match rest {
            _ if is_quoted || depth > 0 => continue,
            _ if rest.starts_with("; note: ") => ("note", "; note: "),
            _ if ["; it ", "; they ", "; there "].iter().any(|fact| rest.starts_with(fact)) => ("note", "; "),
            _ if rest.starts_with("; ") => ("help", "; "),
            _ if label == "error" && [": it ", ": they "].iter().any(|reason| rest.starts_with(reason)) => {
                ("note", ": ")
            }
            _ => continue,
        };
        lines.push((label, &message[start..place]));
        (start, label) = (place + separator.len(), next);
    }
    lines.push((label, &message[start..]));
    lines
}
