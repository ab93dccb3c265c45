//! What the sanitizers find in the common bugs, and what a GPU did.

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

/// Runs the sanitizers on both kernels of each bug.
///
/// # Errors
/// When the simulator fails.
pub(super) fn check(pitfalls: Vec<&'static Pitfall>, env: &Env<'_>) -> Result<Vec<CheckedBug>, Error> {
    let bar = progress_bar(pitfalls.len(), env.terminal);
    let kernels = env.catalog.kernels.newest_for(None)?;
    let text = |kernel: &str| kernels.map_or(Cow::Borrowed(""), |ptx| ptx.part_with_lines(kernel));
    let mut shown = Vec::with_capacity(pitfalls.len());
    for pitfall in pitfalls {
        bar.set_message(pitfall.name);
        let checked = CheckedBug::new(pitfall, text)?;
        // An interrupted launch says nothing about the bug.
        if is_interrupted() {
            break;
        }
        shown.push(checked);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(shown)
}

/// Returns the exit code: whether each fault was found, and each fixed version is clean.
pub(super) fn exit_code(shown: &[CheckedBug]) -> u8 {
    let is_right = shown.iter().all(|own| own.is_found() && own.fixed.is_right());
    if is_right { 0 } else { WRONG }
}

/// A pitfall for programs.
#[derive(Serialize)]
struct PitfallRecord<'a> {
    pitfall: &'a str,
    /// The check that must find it.
    check: &'a str,
    lesson: &'a str,
    source: &'a str,
    /// The marked lines of the source: the faulty line, and the line that conflicts with it, if any.
    line: Option<u32>,
    other_line: Option<u32>,
    found: bool,
    findings: &'a [Finding],
    /// Whether the fixed version is right and clean.
    clean: bool,
    /// What a GPU did: `null` where it was not measured.
    measured: Option<&'a IndexMap<&'static str, String>>,
}

/// Returns all bugs: a table of them for each check.
pub(super) fn tables(shown: &[CheckedBug], gpu: &MeasuredPitfalls) -> Document {
    let mut document = Document::default();
    for check in Check::ALL {
        let own: Vec<&CheckedBug> = shown.iter().filter(|own| own.bug.check == check).collect();
        if own.is_empty() {
            continue;
        }
        document.section(check.name(), check.about());
        let headings = ["lesson", "found", "fixed version"].map(Column::text).into_iter();
        let measured = [(ON_GPU, Importance::Medium), (FIXED_ON_GPU, Importance::Wide)].into_iter();
        let measured = measured.chain(TOOLS.map(|tool| (tool, Importance::Wide)));
        let columns = measured.clone().map(|(heading, importance)| Column::text(heading).of(importance));
        let mut table = Table::new([Column::name("pitfall")].into_iter().chain(headings).chain(columns))
            .with_results_of(check.name(), check.about());
        for own in own {
            let values = gpu.of.get(own.bug.name);
            let value = |heading: &str| values.and_then(|values| values.get(heading)).map_or(NOTHING, String::as_str);
            let cells = [own.bug.name.into(), own.bug.lesson.into(), found(own), clean(own)].into_iter();
            table.row(cells.chain(measured.clone().map(|(heading, _)| Cell::from(value(heading)))));
        }
        document.table(table);
    }
    let found = shown.iter().filter(|own| own.is_found());
    document.note(format!("{} of {} are found here", found.count(), shown.len()));
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

/// Returns the pitfalls one after the other, each with everything that is known of it.
pub(super) fn one_by_one(shown: &[CheckedBug], gpu: &MeasuredPitfalls) -> Document {
    let mut document = Document::default();
    for own in shown {
        let pitfall = own.bug;
        document.section(pitfall.name, pitfall.lesson);
        let mut facts = vec![("fault", place(pitfall, FAULT))];
        if pitfall.marked(OTHER).is_some() {
            facts.push(("and", place(pitfall, OTHER)));
        }
        facts.push(("check", format!("{}: {}", pitfall.check.name(), pitfall.check.about())));
        facts.push(("fixed version", fixed(own)));
        facts.push(("a GPU", pitfall.on_gpu.to_owned()));
        let measured = gpu.of.get(pitfall.name).into_iter().flatten();
        facts.extend(measured.map(|(heading, value)| (*heading, value.clone())));
        if !own.is_found() {
            facts.push(("found", "no, not at that line".to_owned()));
        }
        document.facts(facts);
        document.diagnostics(Diagnostic::of_findings(&own.faulty.findings));
    }
    end(shown, gpu, &mut document);
    document
}

/// A marked line: `kernels-gpu/src/pitfalls/missing_barrier.rs:20: *tile.add(i) = …`.
fn place(pitfall: &Pitfall, mark: &str) -> String {
    let (line, text) = (pitfall.marked(mark).unwrap_or(0), pitfall.marked_text(mark).unwrap_or_default());
    format!("{}:{line}: {text}", pitfall.source)
}

/// What the fixed version does, in a line.
fn fixed(own: &CheckedBug) -> String {
    match own.fixed.problems() {
        problems if problems.is_empty() => "right, and no check finds anything".to_owned(),
        problems => problems.join("; "),
    }
}

fn found(own: &CheckedBug) -> Cell {
    match (own.is_found(), own.bug.marked(FAULT)) {
        (true, Some(line)) => Cell::good(format!("line {line}")),
        _ => Cell::bad("NO"),
    }
}

fn clean(own: &CheckedBug) -> Cell {
    if own.fixed.is_right() { Cell::good("clean") } else { Cell::bad("NOT CLEAN") }
}

/// Adds where a GPU was measured, and the bugs for programs.
fn end(shown: &[CheckedBug], gpu: &MeasuredPitfalls, document: &mut Document) {
    if let Some(context) = &gpu.context {
        let Context { device, conditions, provenance: Provenance { date, toolchain } } = context;
        let measured = [device, conditions, date, toolchain].into_iter().filter(|own| !own.is_empty());
        let measured: Vec<&str> = measured.map(String::as_str).collect();
        document.note(format!("measured on {}", measured.join("; ")));
        document.measured(context.clone());
    }
    for own in shown {
        let bug = own.bug;
        document.record(&PitfallRecord {
            pitfall: bug.name,
            check: bug.check.name(),
            lesson: bug.lesson,
            source: bug.source,
            line: bug.marked(FAULT),
            other_line: bug.marked(OTHER),
            found: own.is_found(),
            findings: &own.faulty.findings,
            clean: own.fixed.is_right(),
            measured: gpu.of.get(bug.name),
        });
    }
}
