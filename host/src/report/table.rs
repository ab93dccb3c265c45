//! The report and the ladder's list as tables.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use super::counted::COUNTED;
use super::{Setting, caption};
use crate::problem::Verdict;
use crate::registry::{Ladder, Rung};
use crate::run::{Outcome, Report};
use crate::size::dims;

/// How a table meets its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Fit the terminal's width, and colour. Plain and as wide as it needs to be otherwise.
    pub terminal: bool,
}

impl Look {
    pub(super) fn table(self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        if self.terminal {
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .enforce_styling();
        } else {
            table.force_no_tty();
        }
        table
    }
}

pub(super) const NOTHING: &str = "–";

/// The climb as a table, with its caption and what was wrong below it.
pub fn table(report: &Report, setting: &Setting, look: Look) -> String {
    let mut table = look.table();
    table.set_header(
        header(report)
            .into_iter()
            .map(|text| Cell::new(text).add_attribute(Attribute::Bold)),
    );
    for (index, outcome) in report.outcomes.iter().enumerate() {
        let color = if outcome.verdict.is_right() {
            Color::Green
        } else {
            Color::Red
        };
        let cells = row(report, index, outcome).into_iter().enumerate();
        table.add_row(cells.map(|(column, text)| {
            let cell = Cell::new(text);
            if column == RESULT {
                cell.fg(color)
            } else {
                cell
            }
        }));
    }
    align(report, &mut table);
    let mut text = format!("{}\n", table.trim_fmt());
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

/// The climb as a Markdown table with its caption, for the README.
pub fn markdown(report: &Report, setting: &Setting) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).force_no_tty();
    table.set_header(header(report));
    for (index, outcome) in report.outcomes.iter().enumerate() {
        let mut cells = row(report, index, outcome);
        cells[0] = format!("`{}`", cells[0]);
        table.add_row(cells);
    }
    let caption: Vec<String> = caption(report, setting);
    format!("{}\n\n{}.\n", table.trim_fmt(), caption.join("; "))
}

/// The column that says whether the result was right.
const RESULT: usize = 2;

fn header(report: &Report) -> Vec<&'static str> {
    let mut header = vec!["rung", "grid × block", "result"];
    if report.counted() {
        header.extend(COUNTED.iter().map(|column| column.header));
    }
    if report.runs.is_some() {
        header.extend([
            "time",
            "× first",
            "× before",
            "GB/s",
            "of peak",
            "published",
        ]);
    }
    header
}

fn row(report: &Report, index: usize, outcome: &Outcome) -> Vec<String> {
    let Outcome {
        rung,
        launch,
        verdict,
        samples,
        ..
    } = outcome;
    let mut row = vec![
        rung.name.to_owned(),
        format!("{} × {}", dims(launch.grid), dims(launch.block)),
        if verdict.is_right() { "right" } else { "WRONG" }.to_owned(),
    ];
    if report.counted() {
        row.extend(COUNTED.iter().map(|column| column.cell(outcome)));
    }
    if report.runs.is_none() {
        return row;
    }
    let speedup = |factor: Option<f64>| factor.map_or(NOTHING.into(), times);
    let bandwidth = report.bytes_per_s(outcome);
    let share = bandwidth
        .zip(report.device.peak_bytes_per_s)
        .map(|(own, peak)| own / peak);
    row.extend([
        samples
            .as_ref()
            .map_or(NOTHING.into(), |samples| duration(samples.median())),
        speedup(report.speedup_vs_first(outcome)),
        speedup(report.speedup_vs_before(index)),
        bandwidth.map_or(NOTHING.into(), |bytes| format!("{:.1}", bytes / 1e9)),
        share.map_or(NOTHING.into(), |share| format!("{:.1} %", share * 100.0)),
        seed(report, outcome),
    ]);
    row
}

/// What the seed measured; where it compares with another rung than the first, with which, and what it is
/// here.
fn seed(report: &Report, outcome: &Outcome) -> String {
    let Some(seed) = outcome.rung.seed else {
        return String::new();
    };
    if report
        .ladder
        .rungs
        .first()
        .is_some_and(|first| first.name == seed.over)
    {
        return format!("{}×", seed.factor);
    }
    let here = report
        .speedup_over(outcome, seed.over)
        .map_or(String::new(), |factor| format!(", here {}", times(factor)));
    format!("{}× {}{here}", seed.factor, seed.over)
}

fn times(factor: f64) -> String {
    format!("{factor:.2}×")
}

fn duration(nanoseconds: f64) -> String {
    if nanoseconds < 1e6 {
        format!("{:.2} µs", nanoseconds / 1e3)
    } else {
        format!("{:.3} ms", nanoseconds / 1e6)
    }
}

fn align(report: &Report, table: &mut Table) {
    let numbers = if report.counted() { COUNTED.len() } else { 5 };
    for column in table.column_iter_mut().skip(RESULT + 1).take(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The rungs of a ladder: where each one's device code is, how it is launched, what it teaches.
pub fn list(ladder: &Ladder, look: Look) -> String {
    let mut table = look.table();
    table.set_header([
        "rung",
        "device code",
        "block",
        "shared",
        "in place",
        "lesson",
    ]);
    for rung in ladder.rungs {
        table.add_row([
            rung.name.to_owned(),
            rung.source.to_owned(),
            dims(rung.default_block),
            shared(rung),
            if rung.in_place { "yes" } else { "" }.to_owned(),
            rung.lesson.to_owned(),
        ]);
    }
    format!(
        "{}: {}\n{}\n",
        ladder.name,
        ladder.summary,
        table.trim_fmt()
    )
}

fn shared(rung: &Rung) -> String {
    match (
        rung.shared.bytes(rung.default_block),
        rung.shared.dynamic_bytes(rung.default_block),
    ) {
        (0, _) => String::new(),
        (bytes, 0) => format!("{bytes} B"),
        (bytes, _) => format!("{bytes} B dynamic"),
    }
}
