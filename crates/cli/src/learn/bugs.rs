//! Common bugs: kernels with a fault and their fixed versions, what the sanitizers find in each, and what a GPU did.

use std::collections::BTreeMap;

use analysis::pitfalls::{Record, Recorded, TOOLS, ToolReport};
use engine::device::Sim;
use engine::pitfall::{self, Check, Checked, FAULT, OTHER, Outcome, Pitfall};
use serde::Serialize;
use simt::diagnostic::Diagnostic;
use simt::run::is_interrupted;
use simt::sanitize::Finding;

use crate::command::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::output::{Cell, Column, Document, Table};

/// A bug with what the sanitizers find in it.
pub struct CheckedPitfall {
    pitfall: &'static Pitfall,
    checked: Checked,
}

/// Runs the sanitizers on both kernels of each bug.
///
/// # Errors
/// When the simulator fails.
pub fn check(pitfalls: Vec<&'static Pitfall>, env: &Env<'_>) -> Result<Vec<CheckedPitfall>, Error> {
    let bar = progress_bar(pitfalls.len(), env.terminal);
    // One thread, as the sanitizers run on one.
    let mut sim = Sim::open(env.catalog.kernels, 1)?;
    let mut shown = Vec::with_capacity(pitfalls.len());
    for pitfall in pitfalls {
        bar.set_message(pitfall.name);
        let checked = pitfall::check(&mut sim, pitfall)?;
        // An interrupted launch says nothing about the bug.
        if is_interrupted() {
            break;
        }
        shown.push(CheckedPitfall { pitfall, checked });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(shown)
}

/// The exit code: whether each fault was found, and each fixed version is clean.
pub fn exit_code(shown: &[CheckedPitfall]) -> u8 {
    let is_right = shown.iter().all(|own| own.checked.is_found() && own.checked.is_clean());
    if is_right { 0 } else { WRONG }
}

/// What stands where a GPU has not been asked.
const NOT_MEASURED: &str = "not yet measured";

/// A pitfall for programs.
#[derive(Serialize)]
struct Row<'a> {
    pitfall: &'a str,
    /// The check that is to find it.
    check: &'a str,
    lesson: &'a str,
    source: &'a str,
    /// The marked lines of the source: that of the fault, and that of the second party if there is one.
    line: Option<u32>,
    other_line: Option<u32>,
    found: bool,
    findings: &'a [Finding],
    cure: Cure<'a>,
    /// What a GPU is expected to do.
    on_gpu: &'a str,
    /// What one did: `null` where it was not measured.
    measured: Option<Measured<'a>>,
    tools: Option<&'a BTreeMap<String, ToolReport>>,
}

#[derive(Serialize)]
struct Cure<'a> {
    kernel: &'a str,
    #[serde(flatten)]
    outcome: &'a Outcome,
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct Measured<'a> {
    faulty: &'a Outcome,
    cure: &'a Outcome,
}

/// All bugs: for each check a table of them, and then one of what compute-sanitizer says.
pub fn tables(shown: &[CheckedPitfall], record: &Record) -> Document {
    let mut document = Document::default();
    for check in Check::ALL {
        let own: Vec<&CheckedPitfall> = shown.iter().filter(|own| own.pitfall.check == check).collect();
        if own.is_empty() {
            continue;
        }
        document.section(check.name(), about(check));
        let headings = ["lesson", "found", "cure", "on a GPU"].map(Column::text);
        let mut table = Table::new([Column::name("pitfall")].into_iter().chain(headings));
        for own in own {
            let recorded = record.pitfalls.get(own.pitfall.name);
            let gpu = recorded.map_or(NOT_MEASURED.to_owned(), |recorded| in_words(&recorded.faulty));
            table.row([own.pitfall.name.into(), own.pitfall.lesson.into(), found(own), clean(own), Cell::from(gpu)]);
        }
        document.table(table);
    }
    if shown.iter().any(|own| has_tools(own, record)) {
        document.section("beside compute-sanitizer", "what finds each fault");
        document.table(beside(shown, record));
    } else {
        document.note(format!("compute-sanitizer: {NOT_MEASURED}"));
    }
    let found = shown.iter().filter(|own| own.checked.is_found());
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
pub fn one_by_one(shown: &[CheckedPitfall], record: &Record) -> Document {
    let mut document = Document::default();
    for own in shown {
        let pitfall = own.pitfall;
        document.section(pitfall.name, pitfall.lesson);
        let recorded = record.pitfalls.get(pitfall.name);
        let mut facts = vec![("fault", place(pitfall, FAULT))];
        if pitfall.marked(OTHER).is_some() {
            facts.push(("and", place(pitfall, OTHER)));
        }
        facts.push(("check", format!("{}: {}", pitfall.check.name(), about(pitfall.check))));
        facts.extend(lines("the cure", cured(own)));
        facts.push(("a GPU", pitfall.on_gpu.to_owned()));
        facts.push(("measured", measured(recorded)));
        for (tool, said) in recorded.iter().flat_map(|recorded| &recorded.tools) {
            facts.push((TOOLS.into_iter().find(|own| own == tool).unwrap_or_default(), said.says.clone()));
        }
        if !own.checked.is_found() {
            facts.push(("found", "no, not at that line".to_owned()));
        }
        document.facts(facts);
        document.diagnostics(Diagnostic::of_findings(&own.checked.findings));
        add_record(own, record, &mut document);
    }
    circumstances(record, &mut document);
    document
}

/// What a check looks for.
fn about(check: Check) -> &'static str {
    match check {
        Check::Memory => "accesses outside of the object that the pointer came from",
        Check::Init => "values that depend on memory or registers which nobody has written",
        Check::Race => "accesses to the same bytes that nothing orders",
        Check::Sync => "threads that wait for others in a way in which they do not meet",
    }
}

/// A marked line: `kernels-gpu/src/pitfalls/missing_barrier.rs:20: *tile.add(i) = …`.
fn place(pitfall: &Pitfall, mark: &str) -> String {
    let Some(line) = pitfall.marked(mark) else { return pitfall.source.to_owned() };
    let text = pitfall.text.lines().nth(line as usize - 1).unwrap_or_default();
    format!("{}:{line}: {}", pitfall.source, text.trim().trim_end_matches(mark).trim_end())
}

/// A fact of several lines.
fn lines(label: &'static str, texts: Vec<String>) -> impl Iterator<Item = (&'static str, String)> {
    let labels = [label].into_iter().chain(std::iter::repeat(""));
    labels.zip(texts.into_iter().flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()))
}

fn cured(own: &CheckedPitfall) -> Vec<String> {
    let findings = match own.checked.in_cure.len() {
        0 => "no check finds anything".to_owned(),
        count => format!("{count} findings:"),
    };
    let outcome = format!("{}, and {findings}", in_words(&own.checked.cure));
    [outcome].into_iter().chain(own.checked.in_cure.iter().map(ToString::to_string)).collect()
}

fn measured(recorded: Option<&Recorded>) -> String {
    match recorded {
        None => NOT_MEASURED.to_owned(),
        Some(Recorded { faulty, cure, .. }) => format!("{}; the cure: {}", in_words(faulty), in_words(cure)),
    }
}

fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Right => "right".to_owned(),
        Outcome::Wrong { elements, of } => format!("wrong: {elements} of {of}"),
        Outcome::Error { says } => format!("error: {says}"),
        Outcome::TimeOut => "does not end".to_owned(),
    }
}

fn found(own: &CheckedPitfall) -> Cell {
    match (own.checked.is_found(), own.pitfall.marked(FAULT)) {
        (true, Some(line)) => Cell::good(format!("line {line}")),
        _ => Cell::bad("NO"),
    }
}

fn clean(own: &CheckedPitfall) -> Cell {
    if own.checked.is_clean() { Cell::good("clean") } else { Cell::bad("NOT CLEAN") }
}

/// What finds which fault: the checks here, and each tool of compute-sanitizer.
fn beside(shown: &[CheckedPitfall], record: &Record) -> Table {
    let headings = ["here"].into_iter().chain(TOOLS).map(Column::text);
    let mut table = Table::new([Column::name("pitfall")].into_iter().chain(headings));
    for own in shown {
        let here = if own.checked.is_found() { own.pitfall.check.name() } else { "no" };
        let tools = TOOLS.map(|tool| match said(own, record, tool) {
            None => NOT_MEASURED,
            Some(ToolReport { finds: true, .. }) => "yes",
            Some(_) => "no",
        });
        table.row([own.pitfall.name, here].into_iter().chain(tools));
    }
    table
}

/// What a tool of compute-sanitizer says of a pitfall.
fn said<'r>(own: &CheckedPitfall, record: &'r Record, tool: &str) -> Option<&'r ToolReport> {
    record.pitfalls.get(own.pitfall.name)?.tools.get(tool)
}

fn has_tools(own: &CheckedPitfall, record: &Record) -> bool {
    TOOLS.iter().any(|tool| said(own, record, tool).is_some())
}

fn circumstances(record: &Record, document: &mut Document) {
    if !record.measured.is_empty() {
        document.note(format!("measured on {}", record.measured.join("; ")));
    }
}

fn add_record(own: &CheckedPitfall, record: &Record, document: &mut Document) {
    let (pitfall, checked) = (own.pitfall, &own.checked);
    let recorded = record.pitfalls.get(pitfall.name);
    document.record(&Row {
        pitfall: pitfall.name,
        check: pitfall.check.name(),
        lesson: pitfall.lesson,
        source: pitfall.source,
        line: pitfall.marked(FAULT),
        other_line: pitfall.marked(OTHER),
        found: checked.is_found(),
        findings: &checked.findings,
        cure: Cure { kernel: pitfall.cure, outcome: &checked.cure, findings: &checked.in_cure },
        on_gpu: pitfall.on_gpu,
        measured: recorded.map(|own| Measured { faulty: &own.faulty, cure: &own.cure }),
        tools: recorded.map(|own| &own.tools).filter(|tools| !tools.is_empty()),
    });
}
