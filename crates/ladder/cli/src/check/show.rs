//! The output of checks.

use std::collections::{BTreeMap, BTreeSet};

use engine::device::Finding;
use engine::options::Options;
use engine::registry::{DeviceProperties, Ladder, Rung};
use engine::size::{dims, plural};
use serde::Serialize;
use simt::run::is_interrupted;
use simt_check::diagnostic::Diagnostic;

use crate::command::Env;
use crate::output::{self, Cell, Column, Document, Importance, Table};

/// The verdicts of one ladder over problems and blocks.
#[derive(Default)]
pub(super) struct Sweep {
    pub(super) ladder: &'static str,
    pub(super) checks: Vec<Check>,
    /// The kernels that the device does not support, each with the reason. They are left out because they were not
    /// requested by name.
    pub(super) left_out: BTreeSet<String>,
    /// The rungs that some problems refused, each with the first reason and the number of other problems that refused
    /// the rung.
    pub(super) refused: BTreeMap<&'static str, (String, usize)>,
    /// The number of random schedules that each launch also ran under.
    pub(super) schedules: u32,
    /// The reason why the sweep stopped early, if it did.
    pub(super) ended: Option<&'static str>,
}

/// A launch and whether its result was correct. This is also the JSON record of the launch.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) ladder: &'static str,
    pub(super) rung: &'static str,
    /// The problem: [`Problem::size`].
    pub(super) problem: String,
    pub(super) entry: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Whether the result was correct. A result can be correct by luck, so see the findings too.
    pub(super) correct: bool,
    /// The schedule of the launch whose result was wrong, or the launch's only schedule. `None` for the default
    /// schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schedule: Option<String>,
    /// The findings of the device `sim`. For a launch that failed on a GPU, the findings of a second run on `sim`.
    pub(super) findings: Vec<Finding>,
    /// Notes on the sanitizers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// The size that the table shows: [`Problem::column`].
    #[serde(skip)]
    pub(super) column: String,
    /// The error in the result, and its location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wrong: Option<String>,
    /// The rung and the options of the problem, if the launch failed.
    #[serde(skip)]
    pub(super) failed: Option<(&'static Rung, Options)>,
}

/// The JSON record of a sweep that stopped early.
#[derive(Serialize)]
struct Incomplete {
    ladder: &'static str,
    /// The reason why the sweep stopped.
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

    /// Records a rung that is left out for one of the problems. Blocks that a rung was not compiled for are not
    /// recorded.
    pub(super) fn leave_out(&mut self, error: engine::Error) {
        if let engine::Error::Refused { rung, .. } = error {
            let known = self.refused.entry(rung);
            known.and_modify(|(_, others)| *others += 1).or_insert_with(|| (error.to_string(), 0));
        }
    }

    /// Reruns on the simulator, for each rung, one of the launches that failed on a GPU, to explain the failure.
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

    /// Returns a table with a row for each size of the problem.
    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::text("size").unbroken(),
            Column::number("checks"),
            Column::number("rungs"),
            Column::text("blocks").of(Importance::Medium),
            Column::text("result"),
        ]);
        let mut sizes: Vec<(&str, Vec<&Check>)> = Vec::new();
        for check in &self.checks {
            match sizes.iter_mut().find(|(size, _)| *size == check.column) {
                Some((_, checks)) => checks.push(check),
                None => sizes.push((&check.column, vec![check])),
            }
        }
        for (size, checks) in sizes {
            let rungs = checks.iter().map(|check| check.rung).collect::<BTreeSet<_>>().len();
            table.row([
                size.into(),
                checks.len().to_string().into(),
                rungs.to_string().into(),
                blocks(&checks).into(),
                result(&checks),
            ]);
        }
        table
    }
}

/// Returns a summary of the checks, and the results that were wrong or left out. With `all`, adds a table for each
/// ladder and lists every wrong result, not only the first of each rung.
pub(super) fn document(sweeps: &[Sweep], all: bool) -> Document {
    let checks = || sweeps.iter().flat_map(|sweep| &sweep.checks);
    let mut document = Document::default();
    document.heading(summary(sweeps), "");
    if all {
        for sweep in sweeps {
            document.section(sweep.ladder, "");
            document.table(sweep.table());
        }
    }
    let mut wrong: BTreeMap<&str, usize> = BTreeMap::new();
    for check in checks().filter(|check| check.wrong.is_some()) {
        let count = wrong.entry(check.rung).or_default();
        *count += 1;
        if all || *count == 1 {
            document.note(check.wrong.as_deref().unwrap_or_default());
        }
    }
    for (rung, count) in wrong.iter().filter(|(_, count)| **count > 1 && !all) {
        let more = plural(*count as u64 - 1, "more check");
        document.note(format!("wrong: {rung} in {more}; --all shows all of them"));
    }
    let notes = checks().flat_map(|check| check.notes.iter().map(|note| format!("{}: {note}", check.rung)));
    notes.collect::<BTreeSet<_>>().into_iter().for_each(|note| document.note(note));
    document.diagnostics(Diagnostic::of_findings(checks().flat_map(|check| &check.findings)));
    let left_out = sweeps.iter().flat_map(|sweep| &sweep.left_out).collect::<BTreeSet<_>>();
    left_out.into_iter().for_each(|why| document.note(output::left_out(why)));
    for (why, others) in sweeps.iter().flat_map(|sweep| sweep.refused.values()) {
        let others = if *others > 0 { format!("; the same for {others} other problems") } else { String::new() };
        document.note(output::left_out(format!("{why}{others}")));
    }
    for sweep in sweeps {
        sweep.checks.iter().for_each(|check| document.record(check));
        if let Some(why) = sweep.ended {
            document.note(format!("some checks did not run: {why}"));
            document.record(&Incomplete { ladder: sweep.ladder, incomplete: why });
        }
    }
    document
}

/// Returns a summary: `625 checks of 9 rungs of transpose: all right`.
fn summary(sweeps: &[Sweep]) -> String {
    let checks: Vec<&Check> = sweeps.iter().flat_map(|sweep| &sweep.checks).collect();
    let rungs = checks.iter().map(|check| check.rung).collect::<BTreeSet<_>>().len();
    let ladder = match sweeps {
        [only] => format!(" of {}", only.ladder),
        _ => String::new(),
    };
    let schedules = match sweeps.first().map_or(0, |sweep| sweep.schedules) {
        0 => String::new(),
        1 => ", each repeated under a random schedule".to_owned(),
        several => format!(", each repeated under {several} random schedules"),
    };
    let wrong = checks.iter().filter(|check| !check.correct).count();
    let found = checks.iter().filter(|check| check.correct && !check.is_good()).count();
    let so_far = if is_interrupted() || sweeps.iter().any(|sweep| sweep.ended.is_some()) { " so far" } else { "" };
    let result = match (wrong, found) {
        (0, 0) => "all right".to_owned(),
        (wrong, 0) => format!("{} wrong", grouped(wrong)),
        (0, found) => format!("{} right, but with findings", grouped(found)),
        (wrong, found) => format!("{} wrong, and {} right, but with findings", grouped(wrong), grouped(found)),
    };
    let (count, rungs) = (checks.len(), plural(rungs as u64, "rung"));
    let noun = if count == 1 { "check" } else { "checks" };
    format!("{} {noun} of {rungs}{ladder}{schedules}: {result}{so_far}", grouped(count))
}

/// Formats a count with commas: `52,871`.
fn grouped(count: usize) -> String {
    match count / 1000 {
        0 => count.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), count % 1000),
    }
}

/// Returns the blocks of the checks, without duplicates.
fn blocks(checks: &[&Check]) -> String {
    let blocks: BTreeSet<[u32; 3]> = checks.iter().map(|check| check.block).collect();
    blocks.into_iter().map(dims).collect::<Vec<_>>().join(", ")
}

/// Returns the result of the checks for one size: right, or the rungs that were wrong or had findings, with their
/// blocks.
fn result(checks: &[&Check]) -> Cell {
    let rungs = |is_meant: fn(&Check) -> bool| {
        let mut rungs: Vec<(&str, Vec<&Check>)> = Vec::new();
        for check in checks.iter().filter(|check| is_meant(check)) {
            match rungs.iter_mut().find(|(rung, _)| *rung == check.rung) {
                Some((_, checks)) => checks.push(check),
                None => rungs.push((check.rung, vec![check])),
            }
        }
        let named = rungs.iter().map(|(rung, checks)| format!("{rung} ({})", blocks(checks)));
        named.collect::<Vec<_>>().join(", ")
    };
    match (rungs(|check| !check.correct), rungs(|check| !check.is_good())) {
        (wrong, _) if !wrong.is_empty() => Cell::bad(format!("WRONG: {wrong}")),
        (_, found) if !found.is_empty() => Cell::bad(format!("right, but see below: {found}")),
        _ => Cell::good("right"),
    }
}
