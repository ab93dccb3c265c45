//! Tables of results: for each ladder, the number of mutants that each check caught, and the survivors.

use std::collections::BTreeMap;

use engine::Provenance;
use mutate::{Caught, MutantResult, MutantVerdict};
use serde::Serialize;

use super::Run;
use cli::output::{Column, Context, Document, Importance, Table};

/// A mutant in JSON.
#[derive(Serialize)]
struct MutantRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    entry: &'a str,
    mutation: &'a str,
    instruction: &'a str,
    occurrence: usize,
    edit: &'a str,
    verdict: &'a MutantVerdict,
    reason: Option<&'a str>,
    equivalent: Option<bool>,
}

/// The number of mutants for each kind of verdict.
#[derive(Default)]
struct Counts {
    caught: BTreeMap<Caught, usize>,
    unchanged: usize,
    same_memory: usize,
    /// Mutants that are equivalent to the kernel for a known reason.
    equivalent: usize,
    /// Mutants that survive for a known reason.
    known: usize,
    unexplained: usize,
    unreached: usize,
    refused: usize,
}

impl Counts {
    fn of<'a>(outcomes: impl Iterator<Item = &'a MutantResult<'a>>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            match (&outcome.verdict, outcome.reason) {
                (MutantVerdict::Caught { by, .. }, _) => *counts.caught.entry(*by).or_default() += 1,
                (MutantVerdict::Unchanged { .. }, _) => counts.unchanged += 1,
                (MutantVerdict::SameMemory { .. }, _) => counts.same_memory += 1,
                (MutantVerdict::Unreached { .. }, _) => counts.unreached += 1,
                (MutantVerdict::Refused { .. }, _) => counts.refused += 1,
                (MutantVerdict::Survived { .. }, Some(reason)) if reason.equivalent => counts.equivalent += 1,
                (MutantVerdict::Survived { .. }, Some(_)) => counts.known += 1,
                (MutantVerdict::Survived { .. }, None) => counts.unexplained += 1,
            }
        }
        counts
    }

    fn all_caught(&self) -> usize {
        self.caught.values().sum()
    }

    /// Returns the number of mutants that change the kernel's behavior.
    fn changing(&self) -> usize {
        self.all_caught() + self.known + self.unexplained
    }

    fn row(&self, name: &str) -> Vec<String> {
        let changing = self.changing();
        let share = match changing {
            0 => String::new(),
            _ => format!("{:.1} %", 100.0 * self.all_caught() as f64 / changing as f64),
        };
        let by = Caught::all().map(|by| self.caught.get(&by).copied().unwrap_or(0).to_string());
        let counts = [changing.to_string(), share].into_iter().chain(by);
        let others = [self.known, self.unexplained, self.equivalent, self.same_memory, self.unchanged, self.unreached]
            .map(|count| count.to_string());
        [name.to_owned()].into_iter().chain(counts).chain(others).collect()
    }
}

/// The subject of the recorded tables.
const MUTANTS: &str = "mutants";

/// Returns the tables, and a record of each mutant.
pub(super) fn document(run: &Run<'_>, provenance: Provenance) -> Document {
    let mut document = tables(run);
    let context = Context { device: "sim".to_owned(), conditions: String::new(), provenance };
    document.recorded(reasons(run).records(&context));
    document.measured(context);
    for outcome in run.outcomes {
        document.record(&MutantRecord {
            ladder: outcome.kernel.ladder.name,
            rung: outcome.kernel.rung.name,
            entry: &outcome.kernel.entry,
            mutation: outcome.mutant.mutation.name,
            instruction: &outcome.mutant.instruction,
            occurrence: outcome.mutant.occurrence,
            edit: &outcome.mutant.edit.what,
            verdict: &outcome.verdict,
            reason: outcome.reason.map(|reason| reason.reason.as_str()),
            equivalent: outcome.reason.map(|reason| reason.equivalent),
        });
    }
    for outcome in run.outcomes.iter().filter(|outcome| outcome.is_unexplained()) {
        let MutantVerdict::Survived { what } = &outcome.verdict else { continue };
        let (rung, mutation) = (outcome.kernel.rung.name, outcome.mutant.mutation.name);
        let (instruction, edit) = (&outcome.mutant.instruction, &outcome.mutant.edit.what);
        document.note(format!("unexplained survivor: {rung}, {mutation} at `{instruction}` ({edit}): {what}"));
    }
    for reason in &run.unused {
        let (rung, mutation, instruction) = (&reason.rung, &reason.mutation, &reason.instruction);
        document.note(format!("reason that applies to no survivor: {rung}, {mutation} at `{instruction}`"));
    }
    let (threads, seconds) = (run.threads, run.took.as_secs_f64());
    document.note(format!("{} mutants on {threads} threads in {seconds:.1} s", run.outcomes.len()));
    document
}

fn tables(run: &Run<'_>) -> Document {
    let mut document = Document::default();
    let headings = |first: &str| {
        let counts = ["change something", "caught"].map(Column::number);
        let by = Caught::all().map(|by| Column::number(by.to_string()).of(Importance::Medium));
        let uncaught = ["known", "unexplained"].map(Column::number);
        let others = ["equivalent", "same memory", "same accesses", "not executed"];
        let others = others.map(|heading| Column::number(heading).of(Importance::Low));
        [Column::name(first)].into_iter().chain(counts).chain(by).chain(uncaught).chain(others).collect::<Vec<_>>()
    };
    let of = |is: &dyn Fn(&MutantResult<'_>) -> bool| Counts::of(run.outcomes.iter().filter(|outcome| is(outcome)));

    let mut table = Table::new(headings("ladder")).with_results_of(MUTANTS, "by ladder");
    let mut names: Vec<&str> = run.outcomes.iter().map(|outcome| outcome.kernel.ladder.name).collect();
    names.dedup();
    for name in &names {
        table.row(of(&|outcome| outcome.kernel.ladder.name == *name).row(name));
    }
    if names.len() > 1 {
        table.row(of(&|_| true).row("all"));
    }
    document.table(table);

    let mut table = Table::new(headings("mutation")).with_results_of(MUTANTS, "by mutation");
    for mutation in mutate::mutations::ALL {
        let counts = of(&|outcome| outcome.mutant.mutation.name == mutation.name);
        if counts.changing() + counts.equivalent + counts.same_memory + counts.unchanged + counts.unreached > 0 {
            table.row(counts.row(mutation.name));
        }
    }
    document.table(table);
    document
}

/// Returns a table of the survivors, grouped by reason.
fn reasons(run: &Run<'_>) -> Table {
    let words = [Column::name("rung"), Column::name("mutation"), Column::name("instruction")];
    let others = [Column::number("mutants"), Column::text("means the same"), Column::text("why it is not noticed")];
    let mut table = Table::new(words.into_iter().chain(others)).with_results_of(MUTANTS, "explained survivors");
    let mut seen: Vec<(&mutate::reasons::Reason, usize)> = Vec::new();
    for reason in run.outcomes.iter().filter_map(|outcome| outcome.reason) {
        match seen.iter_mut().find(|entry| std::ptr::eq(entry.0, reason)) {
            Some((_, count)) => *count += 1,
            None => seen.push((reason, 1)),
        }
    }
    for (reason, count) in seen {
        let same = if reason.equivalent { "yes" } else { "no" };
        let count = count.to_string();
        table.row(
            [&reason.rung, &reason.mutation, &reason.instruction, &count, same, &reason.reason].map(str::to_owned),
        );
    }
    table
}
