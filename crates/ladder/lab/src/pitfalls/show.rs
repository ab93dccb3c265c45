//! The sanitizers' findings for common bugs, and what a GPU does.

use std::borrow::Cow;

use analysis::pitfalls::{FIXED_ON_GPU, ON_GPU, TOOLS};
use cli::command::WRONG;
use cli::output::{Cell, Column, Context, Document, Importance, NOTHING, Table};
use cli::{Env, Error, progress_bar};
use engine::Provenance;
use indexmap::IndexMap;
use learn::CheckedBug;
use rung::Pitfall;
use rung::pitfall::{Check, FAULT, OTHER};
use serde::Serialize;
use simt::run::is_interrupted;
use simt_check::Finding;
use simt_check::diagnostic::Diagnostic;

use super::MeasuredPitfalls;

/// Runs the sanitizers on the faulty and the fixed kernel of each bug.
///
/// # Errors
/// Returns an error when the simulator fails.
pub(super) fn check(pitfalls: Vec<&'static Pitfall>, env: &Env<'_>) -> Result<Vec<CheckedBug>, Error> {
    let bar = progress_bar(pitfalls.len(), env.terminal);
    let kernels = env.catalog.kernels.newest_for(None)?;
    let text = |kernel: &str| kernels.map_or(Cow::Borrowed(""), |ptx| ptx.part_with_lines(kernel));
    let mut shown = Vec::with_capacity(pitfalls.len());
    for pitfall in pitfalls {
        bar.set_message(pitfall.name);
        let checked = CheckedBug::new(pitfall, text)?;
        // The result of an interrupted launch has no meaning.
        if is_interrupted() {
            break;
        }
        shown.push(checked);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(shown)
}

/// Returns the exit code: success if each fault is found and each fixed version is clean.
pub(super) fn exit_code(shown: &[CheckedBug]) -> u8 {
    let is_right = shown.iter().all(|bug| bug.is_found() && bug.fixed.is_right());
    if is_right { 0 } else { WRONG }
}

/// A pitfall in JSON.
#[derive(Serialize)]
struct PitfallRecord<'a> {
    pitfall: &'a str,
    /// The sanitizer that must find the bug.
    check: &'a str,
    lesson: &'a str,
    source: &'a str,
    /// The marked source lines: the faulty line, and the conflicting line if there is one.
    line: Option<u32>,
    other_line: Option<u32>,
    found: bool,
    findings: &'a [Finding],
    /// Whether the fixed version computes the right result and has no findings.
    clean: bool,
    /// The results on a GPU, or `null` if the pitfall was not measured.
    measured: Option<&'a IndexMap<&'static str, String>>,
}

/// Returns all bugs, with a table for each sanitizer.
pub(super) fn tables(shown: &[CheckedBug], gpu: &MeasuredPitfalls) -> Document {
    let mut document = Document::default();
    for check in Check::ALL {
        let bugs: Vec<&CheckedBug> = shown.iter().filter(|checked| checked.bug.check == check).collect();
        if bugs.is_empty() {
            continue;
        }
        document.section(check.name(), check.about());
        let headings = ["lesson", "found", "fixed version"].map(Column::text).into_iter();
        let measured = [(ON_GPU, Importance::Medium), (FIXED_ON_GPU, Importance::Wide)].into_iter();
        let measured = measured.chain(TOOLS.map(|tool| (tool, Importance::Wide)));
        let columns = measured.clone().map(|(heading, importance)| Column::text(heading).of(importance));
        let mut table = Table::new([Column::name("pitfall")].into_iter().chain(headings).chain(columns))
            .with_results_of(check.name(), check.about());
        for checked in bugs {
            let values = gpu.of.get(checked.bug.name);
            let value = |heading: &str| values.and_then(|values| values.get(heading)).map_or(NOTHING, String::as_str);
            let cells =
                [checked.bug.name.into(), checked.bug.lesson.into(), found(checked), clean(checked)].into_iter();
            table.row(cells.chain(measured.clone().map(|(heading, _)| Cell::from(value(heading)))));
        }
        document.table(table);
    }
    let found = shown.iter().filter(|bug| bug.is_found());
    document.note(format!("{} of {} are found by the simulator", found.count(), shown.len()));
    for tool in TOOLS {
        let reports: Vec<&String> = gpu.of.values().filter_map(|values| values.get(tool)).collect();
        if !reports.is_empty() {
            let found = reports.iter().filter(|report| !report.starts_with("nothing"));
            document.note(format!("{} of {} by {tool}", found.count(), reports.len()));
        }
    }
    end(shown, gpu, &mut document);
    document
}

/// Returns the pitfalls one after another, each with all its details.
pub(super) fn one_by_one(shown: &[CheckedBug], gpu: &MeasuredPitfalls) -> Document {
    let mut document = Document::default();
    for checked in shown {
        let pitfall = checked.bug;
        document.section(pitfall.name, pitfall.lesson);
        let mut facts = vec![("fault", place(pitfall, FAULT))];
        if pitfall.marked(OTHER).is_some() {
            facts.push(("and", place(pitfall, OTHER)));
        }
        facts.push(("check", format!("{}: {}", pitfall.check.name(), pitfall.check.about())));
        facts.push(("fixed version", fixed(checked)));
        facts.push(("a GPU", pitfall.on_gpu.to_owned()));
        let measured = gpu.of.get(pitfall.name).into_iter().flatten();
        facts.extend(measured.map(|(heading, value)| (*heading, value.clone())));
        if !checked.is_found() {
            facts.push(("found", "no finding at this line".to_owned()));
        }
        document.facts(facts);
        document.diagnostics(Diagnostic::of_findings(&checked.faulty.findings));
    }
    end(shown, gpu, &mut document);
    document
}

/// Formats a marked line: `kernels-gpu/src/pitfalls/missing_barrier.rs:20: *tile.add(i) = …`.
fn place(pitfall: &Pitfall, mark: &str) -> String {
    let (line, text) = (pitfall.marked(mark).unwrap_or(0), pitfall.marked_text(mark).unwrap_or_default());
    format!("{}:{line}: {text}", pitfall.source)
}

/// Describes the result of the fixed version in one line.
fn fixed(checked: &CheckedBug) -> String {
    match checked.fixed.problems() {
        problems if problems.is_empty() => "right, without findings".to_owned(),
        problems => problems.join("; "),
    }
}

fn found(checked: &CheckedBug) -> Cell {
    match (checked.is_found(), checked.bug.marked(FAULT)) {
        (true, Some(line)) => Cell::good(format!("line {line}")),
        _ => Cell::bad("NO"),
    }
}

fn clean(checked: &CheckedBug) -> Cell {
    if checked.fixed.is_right() { Cell::good("clean") } else { Cell::bad("NOT CLEAN") }
}

/// Adds the name of the measured GPU, and a JSON record for each bug.
fn end(shown: &[CheckedBug], gpu: &MeasuredPitfalls, document: &mut Document) {
    if let Some(context) = &gpu.context {
        let Context { device, conditions, provenance: Provenance { date, toolchain } } = context;
        let measured = [device, conditions, date, toolchain].into_iter().filter(|text| !text.is_empty());
        let measured: Vec<&str> = measured.map(String::as_str).collect();
        document.note(format!("measured on {}", measured.join("; ")));
        document.measured(context.clone());
    }
    for checked in shown {
        let bug = checked.bug;
        document.record(&PitfallRecord {
            pitfall: bug.name,
            check: bug.check.name(),
            lesson: bug.lesson,
            source: bug.source,
            line: bug.marked(FAULT),
            other_line: bug.marked(OTHER),
            found: checked.is_found(),
            findings: &checked.faulty.findings,
            clean: checked.fixed.is_right(),
            measured: gpu.of.get(bug.name),
        });
    }
}
