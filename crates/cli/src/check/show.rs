//! What is shown of checks.

use std::collections::{BTreeMap, BTreeSet};

use engine::device::Finding;
use engine::options::Options;
use engine::registry::{DeviceProperties, Ladder, Rung};
use engine::selection::Selection;
use engine::size::dims;
use serde::Serialize;
use simt::diagnostic::Diagnostic;
use simt::run::is_interrupted;

use crate::command::Env;
use crate::output::{Cell, Column, Document, NOTHING, Table};

/// The verdicts of one ladder over problems and blocks.
#[derive(Default)]
pub(super) struct Sweep {
    pub(super) checks: Vec<Check>,
    /// The kernels that the device does not support, with the reason. They were not asked for by name and are left
    /// out.
    pub(super) left_out: BTreeSet<String>,
    /// The rungs that problems refused: the first reason of each, and how many other problems refused it.
    pub(super) refused: BTreeMap<&'static str, (String, usize)>,
    /// How many random schedules each launch was run under besides.
    pub(super) schedules: u32,
    /// Why it ended before its end, if it did.
    pub(super) ended: Option<&'static str>,
}

/// A launch, and whether its result was right: the record of it in JSON.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) ladder: &'static str,
    pub(super) rung: &'static str,
    /// The problem: [`Problem::size`].
    pub(super) problem: String,
    pub(super) entry: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Whether the result was right. A right one may have been luck: see the findings.
    pub(super) correct: bool,
    /// The schedule under which it was wrong, or the only one under which it was launched, if it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schedule: Option<String>,
    /// What the checks of the simulated device have found; of a launch that failed on a GPU, when it was run again there.
    pub(super) findings: Vec<Finding>,
    /// What else there is to say of the checks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// The column that it belongs to: [`Problem::column`].
    #[serde(skip)]
    pub(super) column: String,
    /// What was wrong, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wrong: Option<String>,
    /// The rung and the options of the problem, where the launch failed.
    #[serde(skip)]
    pub(super) failed: Option<(&'static Rung, Options)>,
}

/// The record in JSON of a sweep that ended before its end.
#[derive(Serialize)]
struct Incomplete {
    ladder: &'static str,
    /// Why it ended.
    incomplete: &'static str,
}

impl Check {
    fn is_good(&self) -> bool {
        self.correct && self.findings.is_empty()
    }
}

impl Sweep {
    pub(super) fn all_right(&self) -> bool {
        self.ended.is_none() && self.checks.iter().all(Check::is_good)
    }

    /// Notes a rung that is left out at one of the problems. Blocks that a rung was not compiled for are nothing to tell.
    pub(super) fn leave_out(&mut self, error: engine::Error) {
        if let engine::Error::Refused { rung, .. } = error {
            let known = self.refused.entry(rung);
            known.and_modify(|(_, others)| *others += 1).or_insert_with(|| (error.to_string(), 0));
        }
    }

    /// Asks the simulator about launches that failed on a GPU, about one of each rung.
    pub(super) fn explain_failures(&mut self, ladder: &'static Ladder, device: DeviceProperties, env: &Env<'_>) {
        let mut explained = BTreeSet::new();
        for check in &mut self.checks {
            let Some((rung, options)) = &check.failed else { continue };
            if explained.insert(rung.name) && !is_interrupted() {
                let launch = (*rung, check.block);
                (check.findings, check.notes) = engine::on_sim(env.catalog.kernels, ladder, options, launch, device);
            }
        }
    }

    /// A matrix of rungs and problems, and below it each check that was wrong.
    pub(super) fn document(&self, selected: &Selection) -> Document {
        let ladder = selected.ladder;
        let mut columns: Vec<&str> = Vec::new();
        for check in &self.checks {
            if !columns.contains(&check.column.as_str()) {
                columns.push(&check.column);
            }
        }
        let headings = columns.iter().copied().map(Column::text);
        let mut table = Table::new([Column::name(ladder.name)].into_iter().chain(headings));
        for rung in selected.rungs() {
            let own = self.checks.iter().filter(|check| check.rung == rung.name);
            let own: Vec<&Check> = own.collect();
            if !own.is_empty() {
                let cells = columns.iter().map(|&column| cell(&own, column));
                table.row([rung.name.into()].into_iter().chain(cells));
            }
        }
        let mut document = Document::default();
        document.table(table);
        let blocks = self.checks.iter().map(|check| check.block);
        let blocks: BTreeSet<[u32; 3]> = blocks.collect();
        let blocks: Vec<String> = blocks.into_iter().map(dims).collect();
        let (count, blocks) = (self.checks.len(), blocks.join(", "));
        let schedules = match self.schedules {
            0 => String::new(),
            1 => ", each also under a random schedule".to_owned(),
            several => format!(", each also under {several} random schedules"),
        };
        document.note(format!("{count} checks, with blocks of {blocks}{schedules}"));
        let mut notes = BTreeSet::new();
        for check in &self.checks {
            if let Some(wrong) = &check.wrong {
                document.note(wrong);
            }
            notes.extend(check.notes.iter().map(|note| format!("{}: {note}", check.rung)));
            document.record(check);
        }
        notes.into_iter().for_each(|note| document.note(note));
        document.diagnostics(Diagnostic::of_findings(self.checks.iter().flat_map(|check| &check.findings)));
        for why in &self.left_out {
            document.note(format!("note: left out: {why}"));
        }
        for (why, others) in self.refused.values() {
            let others = if *others > 0 { format!("; so with {others} other problems") } else { String::new() };
            document.note(format!("note: left out: {why}{others}"));
        }
        if let Some(why) = self.ended {
            document.note(format!("not all was checked: {why}"));
            document.record(&Incomplete { ladder: ladder.name, incomplete: why });
        }
        document
    }
}

/// The result of a rung's checks in a column: no check, right, or the blocks with which it was wrong or had findings.
fn cell(checks: &[&Check], column: &str) -> Cell {
    let here = || checks.iter().filter(|check| check.column == column);
    let blocks = |is_meant: fn(&Check) -> bool| {
        let mut blocks: Vec<String> = here().filter(|check| is_meant(check)).map(|check| dims(check.block)).collect();
        blocks.dedup();
        blocks.join(", ")
    };
    match (blocks(|check| !check.correct), blocks(|check| !check.is_good())) {
        _ if here().count() == 0 => NOTHING.into(),
        (wrong, _) if !wrong.is_empty() => Cell::bad(format!("WRONG: {wrong}")),
        (_, found) if !found.is_empty() => Cell::bad(format!("right, but see below: {found}")),
        _ => Cell::good("right"),
    }
}
