//! The report and the ladder's list as tables.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use super::columns::ColumnText;
use super::{caption, pictures};
use engine::Provenance;
use engine::problem::Verdict;
use engine::registry::{Ladder, Rung};
use engine::run::Report;
use engine::size::dims;

/// How a table meets its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputStyle {
    /// Fit the terminal's width, and colour. Plain and as wide as it needs to be otherwise.
    pub terminal: bool,
}

impl OutputStyle {
    pub(crate) fn table(self) -> Table {
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

/// The climb as a table, with its caption and what was wrong below it.
pub(crate) fn table(report: &Report, provenance: &Provenance, style: OutputStyle) -> String {
    let mut table = style.table();
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
        let cells = row(report, index).into_iter().enumerate();
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

/// The climb as a Markdown table with its caption, for the README; pictures as plain text.
pub(crate) fn markdown(report: &Report, provenance: &Provenance) -> String {
    if report.ladder.shown.pictures {
        let text = pictures(report, provenance, OutputStyle::default());
        return format!("```text\n{text}```\n");
    }
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).force_no_tty();
    table.set_header(header(report));
    for index in 0..report.outcomes.len() {
        let mut cells = row(report, index);
        cells[0] = format!("`{}`", cells[0]);
        table.add_row(cells);
    }
    let caption: Vec<String> = caption(report, provenance);
    format!("{}\n\n{}.\n", table.trim_fmt(), caption.join("; "))
}

/// The column that says whether the result was right.
const RESULT: usize = 2;

/// What the ladder shows of a climb like this.
fn columns(report: &Report) -> Vec<&'static ColumnText> {
    let shown = &report.ladder.shown;
    let counted = report.counted().then_some(shown.counted);
    let timed = report.runs.is_some().then_some(shown.timed);
    let columns = counted.into_iter().chain(timed).flatten();
    columns.map(|&column| ColumnText::of(column)).collect()
}

fn header(report: &Report) -> Vec<&'static str> {
    let mut header = vec!["rung", "grid × block", "result"];
    header.extend(columns(report).iter().map(|column| column.header));
    header
}

fn row(report: &Report, index: usize) -> Vec<String> {
    let outcome = &report.outcomes[index];
    let launch = &outcome.launch;
    let right = outcome.verdict.is_right();
    let mut row = vec![
        outcome.rung.name.to_owned(),
        format!("{} × {}", dims(launch.grid), dims(launch.block)),
        if right { "right" } else { "WRONG" }.to_owned(),
    ];
    row.extend(
        columns(report)
            .iter()
            .map(|column| column.cell(report, index)),
    );
    row
}

fn align(report: &Report, table: &mut Table) {
    let columns = columns(report);
    for (cells, column) in table.column_iter_mut().skip(RESULT + 1).zip(columns) {
        if column.is_number {
            cells.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The rungs of a ladder: where each one's device code is, how it is launched, what it teaches.
pub(crate) fn list(ladder: &Ladder, style: OutputStyle) -> String {
    let mut table = style.table();
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
