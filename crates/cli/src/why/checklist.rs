//! `ladder why --checklist`: the optimizations, and the rungs that show them, measured.

use crate::command::{Env, Output, progress_bar};
use crate::error::Error;
use crate::output::{Column, Document, Format, NOTHING, Table, number};
use analysis::checklist::{MeasuredGain, MeasuredPair, entries, measure};
use engine::device::Sim;
use serde_json::json;

pub(super) fn show(format: Format, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let pairs = entries().iter().map(|entry| entry.pairs.len()).sum();
    let bar = progress_bar(pairs, env.terminal);
    // The counters are the simulator's, whatever else there is.
    let mut sim = Sim::open(env.catalog.kernels, 0)?;
    let measured = measure(env.catalog, &mut sim, |pair| {
        bar.set_message(pair.after.as_str());
        bar.inc(1);
    });
    bar.finish_and_clear();
    format.write(&document(&measured?), env.style(), to.out)?;
    Ok(0)
}

/// The table of optimizations, and below it each one's rungs with the numbers before and after. For programs there is a
/// record for each optimization, in the checklist's order: what it gains (`null` for nothing), how it is done, and its
/// pairs of rungs.
fn document(measured: &[MeasuredPair]) -> Document {
    let mut document = Document::default();
    let headings = ["optimization", "for the cores", "for the memory", "how"];
    let mut table = Table::new(headings.map(Column::text));
    for entry in entries() {
        let or_nothing = |text: &'static str| if text.is_empty() { NOTHING } else { text };
        table.row([
            entry.optimization.to_string(),
            or_nothing(&entry.compute).to_owned(),
            or_nothing(&entry.memory).to_owned(),
            entry.strategies.join(";\n"),
        ]);
        let or_null = |text: &'static str| (!text.is_empty()).then_some(text);
        let own = measured.iter().filter(|own| own.optimization == entry.optimization);
        document.record(&json!({
            "optimization": entry.optimization,
            "compute": or_null(&entry.compute),
            "memory": or_null(&entry.memory),
            "strategies": entry.strategies,
            "pairs": own.collect::<Vec<_>>(),
        }));
    }
    document.table(table);
    document.section("the rungs that show it", "");
    document.table(rungs(measured));
    document.paragraph("counted on the SIMT machine in this run; `ladder run` counts or times them at any size");
    document
}

/// A row for each pair, with a line for each of its numbers.
fn rungs(measured: &[MeasuredPair]) -> Table {
    let words = ["optimization", "before → after", "problem", "what"].map(Column::text);
    let numbers = ["before", "after", "factor"].map(Column::number);
    let mut table = Table::new(words.into_iter().chain(numbers));
    let mut last = None;
    for own in measured {
        let lines = |text: fn(&MeasuredGain) -> String| -> String {
            let lines: Vec<String> = own.gains.iter().map(text).collect();
            lines.join("\n")
        };
        // Each optimization's name once.
        let is_next = last.replace(own.optimization) != Some(own.optimization);
        table.row([
            if is_next { own.optimization.to_string() } else { String::new() },
            format!("{}\n→ {}", own.pair.before, own.pair.after),
            own.size.clone(),
            lines(|gain| gain.what.to_owned()),
            lines(|gain| number(gain.before)),
            lines(|gain| number(gain.after)),
            lines(|gain| match gain.before {
                0.0 => NOTHING.to_owned(),
                before => format!("{:.2}×", gain.after / before),
            }),
        ]);
    }
    table
}
