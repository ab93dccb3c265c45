//! The report of a run: a table or pictures, with a caption.

mod columns;
mod picture;
mod record;

use engine::Provenance;
use engine::problem::Verdict;
use engine::run::{Report, WARM_UP};
use engine::size::{self, dims};
use simt::diagnostic::Diagnostic;
use simt::run::is_interrupted;

use crate::output::{Cell, Column, Document, Importance, Table};
use columns::ColumnText;

/// The report of a run: a row for each rung or a picture of its launch, followed by the caption and the wrong results.
/// In JSON one object per rung.
pub fn document(report: &Report, provenance: &Provenance) -> Document {
    let mut document = Document::default();
    match report.ladder.shown.pictures {
        true => picture::add(&mut document, report),
        false => document.table(table(report)),
    }
    document.caption(caption(report, provenance));
    for outcome in &report.outcomes {
        if let Verdict::Wrong(why) = &outcome.verdict {
            document.note(format!("wrong: {}: {why}", outcome.launch));
        }
        for note in &outcome.notes {
            document.note(format!("{}: {note}", outcome.launch));
        }
    }
    document.diagnostics(Diagnostic::of_findings(report.outcomes.iter().flat_map(|outcome| &outcome.findings)));
    if !report.not_run.is_empty() {
        let (why, rungs) = (incomplete(), report.not_run.join(", "));
        document.note(format!("{why}; not run: {rungs}"));
    }
    record::add(&mut document, report);
    document
}

/// Why not all rungs of a report have run.
fn incomplete() -> &'static str {
    match is_interrupted() {
        true => "interrupted",
        false => "the device runs nothing more in this process",
    }
}

fn table(report: &Report) -> Table {
    let shown = &report.ladder.shown;
    let counted = report.counted().then_some(shown.counted);
    let timed = report.runs.is_some().then_some(shown.timed);
    let texts = counted.into_iter().chain(timed).flatten();
    let texts: Vec<_> = texts.map(|&column| ColumnText::of(column)).collect();

    let columns =
        [Column::name("rung"), Column::text("grid × block").unbroken().of(Importance::Medium), Column::text("result")];
    let headings = texts.iter().map(|text| text.heading());
    let mut table = Table::new(columns.into_iter().chain(headings));
    for (index, outcome) in report.outcomes.iter().enumerate() {
        let launch = &outcome.launch;
        let cells = [
            outcome.rung.name.into(),
            format!("{} × {}", dims(launch.grid), dims(launch.block)).into(),
            match (outcome.verdict.is_right(), outcome.findings.is_empty()) {
                (true, true) => Cell::good("right"),
                (true, false) => Cell::bad("right, but see below"),
                (false, _) => Cell::bad("WRONG"),
            },
        ];
        let others = texts.iter().map(|text| text.cell(report, index).into());
        table.row(cells.into_iter().chain(others));
    }
    table
}

/// The caption of a table: the device, the problem, the date, the compilers, and whether the data are in the L2 cache.
fn caption(report: &Report, provenance: &Provenance) -> Vec<String> {
    let (ladder, device) = (report.ladder, &report.device);
    let timing = match report.runs {
        Some(1) => "1 timed run, device events".to_owned(),
        Some(runs) => format!("median of {runs} runs after {WARM_UP} to warm up, device events"),
        None if report.counted() => "one launch of each, counted and not timed".to_owned(),
        None => "not timed".to_owned(),
    };
    let mut lines = vec![
        format!("{} on {device}", ladder.name),
        format!("{}, {timing}; {}; {}", report.title, provenance.date, provenance.toolchain),
    ];
    lines.extend(report.left_out.iter().map(|why| format!("left out: {why}")));
    if report.counted() {
        let columns = ladder.shown.counted.iter();
        let legends = columns.map(|&column| &*ColumnText::of(column).legend);
        let legends: Vec<&str> = legends.filter(|legend| !legend.is_empty()).collect();
        lines.push(legends.join("; "));
    }
    // A ladder that is measured in operations per second says nothing about the memory.
    if let (Some(l2), Some(_), None) = (device.l2_bytes, report.runs, report.flops)
        && report.bytes < l2
    {
        lines.push(regime(report.bytes, report.sets, l2));
    }
    lines
}

/// Whether the data of a launch are in the L2 cache when it begins.
pub fn regime(bytes: u64, sets: usize, l2: u64) -> String {
    let (data, cache) = (size::bytes(bytes), size::bytes(l2));
    let all = bytes.saturating_mul(sets as u64);
    if bytes > l2 {
        format!("the data ({data}) are larger than the L2 cache ({cache}): these are the memory's numbers")
    } else if all >= 2 * l2 {
        format!(
            "the data ({data}) fit into the L2 cache ({cache}), but launches take {sets} sets of them in turn: \
             these are the memory's numbers"
        )
    } else {
        format!("the data ({data}) fit into the L2 cache ({cache}): these are the cache's numbers, not the memory's")
    }
}
