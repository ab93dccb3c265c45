//! What the sanitizers find in the common bugs, and what a GPU did.

use std::borrow::Cow;

use analysis::pitfalls::{Record, Recorded, TOOLS, ToolReport};
use cli::command::WRONG;
use cli::output::{Cell, Column, Document, Table};
use cli::{Env, Error, progress_bar};
use learn::CheckedBug;
use rung::Pitfall;
use rung::pitfall::{Check, FAULT, OTHER};
use serde::Serialize;
use simt::diagnostic::Diagnostic;
use simt::run::is_interrupted;
use simt::sanitize::Finding;

/// Runs the sanitizers on both kernels of each bug.
///
/// # Errors
/// When the simulator fails.
pub(super) fn check(pitfalls: Vec<&'static Pitfall>, env: &Env<'_>) -> Result<Vec<CheckedBug>, Error> {
    let bar = progress_bar(pitfalls.len(), env.terminal);
    env.catalog.kernels.check_readable()?;
    let kernels = env.catalog.kernels.newest_for(None);
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

/// The exit code: whether each fault was found, and each fixed version is clean.
pub(super) fn exit_code(shown: &[CheckedBug]) -> u8 {
    let is_right = shown.iter().all(|own| own.is_found() && own.fixed.is_right());
    if is_right { 0 } else { WRONG }
}

/// What stands where a GPU has not been asked.
const NOT_MEASURED: &str = "not yet measured";

/// A pitfall for programs.
#[derive(Serialize)]
struct Row<'a> {
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
    measured: Option<&'a Recorded>,
}

/// All bugs: for each check a table of them, and then one of what compute-sanitizer says.
pub(super) fn tables(shown: &[CheckedBug], record: &Record) -> Document {
    let mut document = Document::default();
    for check in Check::ALL {
        let own: Vec<&CheckedBug> = shown.iter().filter(|own| own.bug.check == check).collect();
        if own.is_empty() {
            continue;
        }
        document.section(check.name(), check.about());
        let headings = ["lesson", "found", "cure", "on a GPU"].map(Column::text);
        let mut table = Table::new([Column::name("pitfall").unbroken()].into_iter().chain(headings));
        for own in own {
            let recorded = record.pitfalls.get(own.bug.name);
            let gpu = recorded.map_or(NOT_MEASURED.to_owned(), |recorded| recorded.faulty.to_string());
            table.row([own.bug.name.into(), own.bug.lesson.into(), found(own), clean(own), Cell::from(gpu)]);
        }
        document.table(table);
    }
    if shown.iter().any(|own| has_tools(own, record)) {
        document.section("beside compute-sanitizer", "what finds each fault");
        document.table(beside(shown, record));
    } else {
        document.note(format!("compute-sanitizer: {NOT_MEASURED}"));
    }
    let found = shown.iter().filter(|own| own.is_found());
    document.note(format!("{} of {} are found here", found.count(), shown.len()));
    for tool in TOOLS {
        let said: Vec<&ToolReport> = shown.iter().filter_map(|own| said(own, record, tool)).collect();
        if !said.is_empty() {
            let found = said.iter().filter(|said| said.finds).count();
            document.note(format!("{found} of {} by {tool}", said.len()));
        }
    }
    circumstances(record, &mut document);
    shown.iter().for_each(|own| add_record(own, record, &mut document));
    document
}

/// The pitfalls one after the other, each with everything that is known of it.
pub(super) fn one_by_one(shown: &[CheckedBug], record: &Record) -> Document {
    let mut document = Document::default();
    for own in shown {
        let pitfall = own.bug;
        document.section(pitfall.name, pitfall.lesson);
        let recorded = record.pitfalls.get(pitfall.name);
        let mut facts = vec![("fault", place(pitfall, FAULT))];
        if pitfall.marked(OTHER).is_some() {
            facts.push(("and", place(pitfall, OTHER)));
        }
        facts.push(("check", format!("{}: {}", pitfall.check.name(), pitfall.check.about())));
        facts.push(("the cure", fixed(own)));
        facts.push(("a GPU", pitfall.on_gpu.to_owned()));
        facts.push(("measured", measured(recorded)));
        for (tool, said) in recorded.iter().flat_map(|recorded| &recorded.tools) {
            facts.push((TOOLS.into_iter().find(|own| own == tool).unwrap_or_default(), said.says.clone()));
        }
        if !own.is_found() {
            facts.push(("found", "no, not at that line".to_owned()));
        }
        document.facts(facts);
        document.diagnostics(Diagnostic::of_findings(&own.faulty.findings));
        add_record(own, record, &mut document);
    }
    circumstances(record, &mut document);
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

fn measured(recorded: Option<&Recorded>) -> String {
    match recorded {
        None => NOT_MEASURED.to_owned(),
        Some(Recorded { faulty, cure, .. }) => format!("{faulty}; the cure: {cure}"),
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

/// What finds which fault: the checks here, and each tool of compute-sanitizer.
fn beside(shown: &[CheckedBug], record: &Record) -> Table {
    let headings = ["here"].into_iter().chain(TOOLS).map(Column::text);
    let mut table = Table::new([Column::name("pitfall")].into_iter().chain(headings));
    for own in shown {
        let here = if own.is_found() { own.bug.check.name() } else { "no" };
        let tools = TOOLS.map(|tool| match said(own, record, tool) {
            None => NOT_MEASURED,
            Some(ToolReport { finds: true, .. }) => "yes",
            Some(_) => "no",
        });
        table.row([own.bug.name, here].into_iter().chain(tools));
    }
    table
}

/// What a tool of compute-sanitizer says of a pitfall.
fn said<'r>(own: &CheckedBug, record: &'r Record, tool: &str) -> Option<&'r ToolReport> {
    record.pitfalls.get(own.bug.name)?.tools.get(tool)
}

fn has_tools(own: &CheckedBug, record: &Record) -> bool {
    TOOLS.iter().any(|tool| said(own, record, tool).is_some())
}

fn circumstances(record: &Record, document: &mut Document) {
    if !record.measured.is_empty() {
        document.note(format!("measured on {}", record.measured.join("; ")));
    }
}

fn add_record(own: &CheckedBug, record: &Record, document: &mut Document) {
    let bug = own.bug;
    document.record(&Row {
        pitfall: bug.name,
        check: bug.check.name(),
        lesson: bug.lesson,
        source: bug.source,
        line: bug.marked(FAULT),
        other_line: bug.marked(OTHER),
        found: own.is_found(),
        findings: &own.faulty.findings,
        clean: own.fixed.is_right(),
        measured: record.pitfalls.get(bug.name),
    });
}
