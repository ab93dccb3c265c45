//! Pictures of launches: the values before and after, with the changed values in color.

use anstyle::{AnsiColor, Style};
use engine::problem::Picture;
use engine::run::Report;

use crate::output::{Document, OutputStyle};

/// Adds each rung's picture under its name.
pub(super) fn add(document: &mut Document, report: &Report) {
    for outcome in &report.outcomes {
        let right = match outcome.verdict.is_right() {
            true => "right",
            false => "WRONG",
        };
        let picture = outcome.picture.as_ref();
        let what = picture.map_or(String::new(), |picture| format!("{}, ", picture.what));
        document.heading(outcome.rung.name, format!("{what}{right}"));
        if let Some(picture) = picture {
            document.picture(OutputStyle::default(), |style| rows(picture, style));
        }
    }
    document.picture(OutputStyle::default(), |style| match style.terminal {
        true => String::new(),
        false => "values in brackets are unchanged\n".to_owned(),
    });
}

/// Returns two rows, with each new value below the old value of its lane. Without color, unchanged values are in
/// brackets.
fn rows(picture: &Picture, style: OutputStyle) -> String {
    let Picture { before, after, .. } = picture;
    let all = before.iter().chain(after);
    let longest = all.map(|value| value.chars().count()).max().unwrap_or(0);
    let (changed, kept, width) = match style.terminal {
        true => {
            let green = Some(AnsiColor::Green.into());
            let changed = Style::new().bold().fg_color(green);
            (changed, Style::new().dimmed(), longest)
        }
        false => (Style::new(), Style::new(), longest + 2),
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
