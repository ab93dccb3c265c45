//! Pictures of launches: the values before, the values after, and what changed in colour.

use anstyle::{AnsiColor, Style};

use super::{Look, Setting, caption};
use crate::problem::{Picture, Verdict};
use crate::run::Report;

/// Each rung's picture under its name, with the caption and what was wrong below them. The text has
/// colours, which the stream that it is written to keeps or strips.
pub fn pictures(report: &Report, setting: &Setting, look: Look) -> String {
    let bold = if look.terminal {
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
            text += &rows(picture, look);
        }
    }
    for line in caption(report, setting) {
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
fn rows(picture: &Picture, look: Look) -> String {
    let Picture { before, after, .. } = picture;
    let longest = before
        .iter()
        .chain(after)
        .map(|value| value.chars().count());
    let width = longest.max().unwrap_or(0) + if look.terminal { 0 } else { 2 };
    let (changed, kept) = if look.terminal {
        (
            Style::new().bold().fg_color(Some(AnsiColor::Green.into())),
            Style::new().dimmed(),
        )
    } else {
        (Style::new(), Style::new())
    };
    let mut text = String::from("  before");
    for value in before {
        let value = if look.terminal {
            value.clone()
        } else {
            format!("{value} ")
        };
        text += &format!(" {value:>width$}");
    }
    text += "\n  after ";
    for (old, new) in before.iter().zip(after) {
        let (style, value) = match (old == new, look.terminal) {
            (true, false) => (kept, format!("({new})")),
            (true, true) => (kept, new.clone()),
            (false, false) => (changed, format!("{new} ")),
            (false, true) => (changed, new.clone()),
        };
        text += &format!(" {style}{value:>width$}{style:#}");
    }
    text + "\n"
}
