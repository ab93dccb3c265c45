//! Pictures of launches: the values before, the values after, and what changed in colour.

use anstyle::{AnsiColor, Style};

use super::{OutputStyle, Provenance, caption};
use engine::problem::{Picture, Verdict};
use engine::run::Report;

/// Each rung's picture under its name, with the caption and what was wrong below them. The text has
/// colours, which the stream that it is written to keeps or strips.
pub(crate) fn pictures(report: &Report, provenance: &Provenance, style: OutputStyle) -> String {
    let bold = if style.terminal {
        Style::new().bold()
    } else {
        Style::new()
    };
    let mut text = String::new();
    for outcome in &report.outcomes {
        let right = if outcome.verdict.is_right() {
            "right"
        } else {
            "WRONG"
        };
        let what = outcome
            .picture
            .as_ref()
            .map_or(String::new(), |picture| format!("{}, ", picture.what));
        text += &format!("{bold}{}{bold:#}: {what}{right}\n", outcome.rung.name);
        if let Some(picture) = &outcome.picture {
            text += &rows(picture, style);
        }
    }
    if !style.terminal {
        text += "values in brackets are what they were\n";
    }
    for line in caption(report, provenance) {
        text += &format!("{line}\n");
    }
    for outcome in &report.outcomes {
        if let Verdict::Wrong(why) = &outcome.verdict {
            text += &format!("wrong: {}: {why}\n", outcome.launch);
        }
    }
    text
}

/// The two rows, each value under its lane's old one. Without colour, what did not change is in brackets.
fn rows(picture: &Picture, style: OutputStyle) -> String {
    let Picture { before, after, .. } = picture;
    let longest = before
        .iter()
        .chain(after)
        .map(|value| value.chars().count());
    let width = longest.max().unwrap_or(0) + if style.terminal { 0 } else { 2 };
    let (changed, kept) = if style.terminal {
        (
            Style::new().bold().fg_color(Some(AnsiColor::Green.into())),
            Style::new().dimmed(),
        )
    } else {
        (Style::new(), Style::new())
    };
    let mut first = String::from("  before");
    for value in before {
        let mark = if style.terminal { "" } else { " " };
        first += &format!(" {:>width$}", format!("{value}{mark}"));
    }
    let mut second = String::from("  after ");
    for (old, new) in before.iter().zip(after) {
        let mark = if old == new { kept } else { changed };
        let value = match (style.terminal, old == new) {
            (true, _) => new.clone(),
            (false, true) => format!("({new})"),
            (false, false) => format!("{new} "),
        };
        second += &format!(" {mark}{value:>width$}{mark:#}");
    }
    format!("{}\n{}\n", first.trim_end(), second.trim_end())
}
