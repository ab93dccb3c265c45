//! The report of a run: a table or pictures, with a caption.

mod columns;
mod picture;
mod predictions;
mod record;

use engine::Column::{OfCopy, OverBefore, OverFirst, Time};
use engine::Provenance;
use engine::problem::Verdict;
use engine::run::{Report, WARM_UP};
use engine::size::{self, dims};
use simt::run::is_interrupted;
use simt_check::diagnostic::Diagnostic;

use crate::output::{self, Cell, Column, Context, Document, Form, Importance, OutputStyle, Table};
use columns::ColumnText;
pub use predictions::Predictions;

/// Returns the report of a run: a row for each rung or a picture of its launch, then the caption and the wrong results.
/// In JSON, each rung is an object. The caption explains the columns that the table shows in this style.
pub fn document(
    report: &Report,
    predictions: Option<&Predictions>,
    provenance: &Provenance,
    style: OutputStyle,
) -> Document {
    let mut document = Document::default();
    let counted = report.ladder.shown.counted;
    let counters = match (report.counted(), predictions) {
        (false, _) => &[],
        (true, None) => counted,
        (true, Some(_)) => &counted[..counted.len().min(SHOWN_COUNTERS)],
    };
    let table = table(report, predictions, counters);
    // Markdown output includes all columns.
    let style = OutputStyle { wide: style.wide || style.form == Form::Markdown, ..style };
    let legends = counters.iter().map(|&column| ColumnText::of(column));
    let legends = legends.filter(|column| !column.legend.is_empty() && table.shows(&column.heading(), style));
    let legends: Vec<&str> = legends.map(|column| &*column.legend).collect();
    match report.ladder.shown.pictures {
        true => picture::add(&mut document, report),
        false => document.table(table),
    }
    document.caption(caption(report, predictions, &legends, provenance));
    document.measured(context(report, provenance));
    report.left_out.iter().for_each(|why| document.note(output::left_out(why)));
    predictions
        .into_iter()
        .flat_map(|predictions| &predictions.notes)
        .for_each(|note| document.note(format!("note: {note}")));
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
    record::add(&mut document, report, predictions);
    document
}

/// The number of counters that are shown next to predicted times, taken from the start of a ladder's columns. JSON
/// includes all counters.
const SHOWN_COUNTERS: usize = 2;

/// Returns the reason why some rungs of a report did not run.
fn incomplete() -> &'static str {
    match is_interrupted() {
        true => "interrupted",
        false => "the device is no longer usable in this process",
    }
}

/// Returns the table of the rungs, with these columns of counters. If there are predictions, the table shows them in
/// place of the launch, which then only the JSON output includes.
fn table(report: &Report, predictions: Option<&Predictions>, counters: &[engine::Column]) -> Table {
    let timed = report.ladder.shown.timed;
    let speedup = timed.iter().find(|speedup| matches!(speedup, OverFirst | OfCopy | OverBefore)).copied();
    let predicted: Vec<_> = predictions.into_iter().flat_map(|_| [Some(Time), speedup]).flatten().collect();
    let timed = if report.runs.is_some() { timed } else { &[] };
    let columns = predicted.iter().chain(counters).chain(timed);
    let texts: Vec<_> = columns.map(|&column| ColumnText::of(column)).collect();

    let launch = predictions.is_none().then(|| Column::text("grid × block").unbroken().of(Importance::Medium));
    let columns = [Column::name("rung")].into_iter().chain(launch).chain([Column::text("result")]);
    let headings = texts.iter().map(|text| text.heading());
    let mut table = Table::new(columns.chain(headings)).with_results_of(report.ladder.name, &report.title);
    for (index, outcome) in report.outcomes.iter().enumerate() {
        let launch = &outcome.launch;
        let launch = predictions.is_none().then(|| format!("{} × {}", dims(launch.grid), dims(launch.block)).into());
        let cells = [outcome.rung.name.into()].into_iter().chain(launch).chain([
            match (outcome.verdict.is_right(), outcome.findings.is_empty()) {
                (true, true) => Cell::good("right"),
                (true, false) => Cell::bad("right, but see below"),
                (false, _) => Cell::bad("WRONG"),
            },
        ]);
        let others = texts.iter().map(|text| text.cell(report, predictions, index));
        table.row(cells.chain(others));
    }
    table
}

/// Returns the lines below a table: the device, the problem, the date, the compilers, and notes for the reader.
fn caption(
    report: &Report,
    predictions: Option<&Predictions>,
    legends: &[&str],
    provenance: &Provenance,
) -> Vec<String> {
    let (ladder, device) = (report.ladder, &report.device);
    let mut lines = vec![
        format!("{} on {device}", ladder.name),
        format!("{}, {}; {}; {}", report.title, timing(report), provenance.date, provenance.toolchain),
    ];
    if let Some(Predictions { device, .. }) = predictions {
        lines.push(format!("times are predicted for {device}, not measured; --on DEVICE predicts another device"));
    }
    if !legends.is_empty() {
        lines.push(legends.join("; "));
    }
    lines.extend(data_in_cache(report));
    lines
}

/// Describes how the times were measured.
fn timing(report: &Report) -> String {
    match report.runs {
        Some(1) => "1 timed run, timed with device events".to_owned(),
        Some(runs) => format!("median of {runs} runs after {WARM_UP} to warm up, device events"),
        None if report.counted() => "one launch of each rung, counted but not timed".to_owned(),
        None => "not timed".to_owned(),
    }
}

/// Returns a note if the data fit in the L2 cache. The times of a ladder that is measured in operations per second do
/// not depend on the cache.
fn data_in_cache(report: &Report) -> Option<String> {
    let l2 = report.device.l2_bytes.filter(|&l2| report.bytes < l2)?;
    (report.runs.is_some() && report.flops.is_none()).then(|| regime(report.bytes, report.sets, l2))
}

/// Returns the circumstances of the results.
fn context(report: &Report, provenance: &Provenance) -> Context {
    let conditions = [Some(timing(report)), data_in_cache(report)].into_iter().flatten();
    let conditions = conditions.collect::<Vec<_>>().join("; ");
    Context { device: report.device.to_string(), conditions, provenance: provenance.clone() }
}

/// Describes whether the data of a launch are in the L2 cache when the launch starts.
pub fn regime(bytes: u64, sets: usize, l2: u64) -> String {
    let (data, cache) = (size::bytes(bytes), size::bytes(l2));
    let all = bytes.saturating_mul(sets as u64);
    if bytes > l2 {
        format!("the data ({data}) are larger than the L2 cache ({cache}), so the times measure the memory")
    } else if all >= 2 * l2 {
        format!(
            "the data ({data}) fit in the L2 cache ({cache}), but launches alternate between {sets} copies of the data, \
             so the times measure the memory"
        )
    } else {
        format!("the data ({data}) fit in the L2 cache ({cache}), so the times measure the cache, not the memory")
    }
}
