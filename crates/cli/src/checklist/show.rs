//! The checklist as tables and as JSON.

use std::collections::BTreeMap;

use anstyle::Style;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement};
use serde::Serialize;

use crate::report::OutputStyle;
use analysis::checklist::{Better, ENTRIES, Measured, Numbers, Optimization};

/// What stands where an optimization gains nothing.
const NOTHING: &str = "–";

/// How wide the table of optimizations is where there is no terminal to fit: it is all words.
const WIDTH: u16 = 120;

/// The table of optimizations, and below it each one's rungs with the numbers before and after.
pub(super) fn text(measured: &[Measured], style: OutputStyle) -> String {
    let heading = if style.terminal {
        Style::new().bold()
    } else {
        Style::new()
    };
    format!(
        "{}\n\n{heading}the rungs that show it{heading:#}\n{}\n\
         counted on the SIMT machine in this run; `ladder run` counts or times them at any size\n",
        optimizations(style),
        rungs(measured, style)
    )
}

fn optimizations(style: OutputStyle) -> String {
    let mut table = style.table();
    if !style.terminal {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH);
    }
    table.set_header(["optimization", "for the cores", "for the memory", "how"].map(bold));
    let or_nothing = |text: &'static str| if text.is_empty() { NOTHING } else { text };
    for entry in ENTRIES {
        table.add_row([
            entry.optimization.name(),
            or_nothing(entry.compute),
            or_nothing(entry.memory),
            &entry.strategies.join(";\n"),
        ]);
    }
    table.trim_fmt()
}

/// A row for each pair, with a line for each of its numbers.
fn rungs(measured: &[Measured], style: OutputStyle) -> String {
    let mut table = style.table();
    table.set_header(
        [
            "optimization",
            "before → after",
            "problem",
            "what",
            "before",
            "after",
            "factor",
        ]
        .map(bold),
    );
    let mut last = None;
    for Measured {
        optimization,
        pair,
        size,
        gains,
    } in measured
    {
        let lines = |text: fn(&Numbers) -> String| -> String {
            let lines: Vec<String> = gains.iter().map(text).collect();
            lines.join("\n")
        };
        // Each optimization's name once.
        let is_next = last.replace(optimization) != Some(optimization);
        table.add_row([
            if is_next { optimization.name() } else { "" }.to_owned(),
            format!("{}\n→ {}", pair.before, pair.after),
            size.clone(),
            lines(|numbers| numbers.gain.what.to_owned()),
            lines(|numbers| number(numbers.before)),
            lines(|numbers| number(numbers.after)),
            lines(|numbers| factor(numbers.before, numbers.after)),
        ]);
    }
    for column in 4..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Counts as they are, averages and shares with two digits.
fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

fn factor(before: f64, after: f64) -> String {
    if before == 0.0 {
        NOTHING.to_owned()
    } else {
        format!("{:.2}×", after / before)
    }
}

fn bold(text: &str) -> Cell {
    Cell::new(text).add_attribute(Attribute::Bold)
}

#[derive(Serialize)]
struct EntryJson {
    optimization: Optimization,
    compute: Option<&'static str>,
    memory: Option<&'static str>,
    strategies: &'static [&'static str],
    pairs: Vec<PairJson>,
}

#[derive(Serialize)]
struct PairJson {
    ladder: &'static str,
    before: &'static str,
    after: &'static str,
    options: BTreeMap<&'static str, &'static str>,
    metrics: Vec<NumbersJson>,
}

#[derive(Serialize)]
struct NumbersJson {
    what: &'static str,
    better: Better,
    before: f64,
    after: f64,
}

/// An array with one object for each optimization, in the checklist's order: what it gains (`null` for nothing), how
/// it is done, and its pairs of rungs with the numbers before and after.
pub(super) fn json(measured: &[Measured]) -> String {
    let some = |text: &'static str| (!text.is_empty()).then_some(text);
    let pair = |measured: &Measured| PairJson {
        ladder: measured.pair.ladder,
        before: measured.pair.before,
        after: measured.pair.after,
        options: measured.pair.options.iter().copied().collect(),
        metrics: measured
            .gains
            .iter()
            .map(|numbers| NumbersJson {
                what: numbers.gain.what,
                better: numbers.gain.better,
                before: numbers.before,
                after: numbers.after,
            })
            .collect(),
    };
    let entries: Vec<EntryJson> = ENTRIES
        .iter()
        .map(|entry| EntryJson {
            optimization: entry.optimization,
            compute: some(entry.compute),
            memory: some(entry.memory),
            strategies: entry.strategies,
            pairs: measured
                .iter()
                .filter(|measured| measured.optimization == entry.optimization)
                .map(pair)
                .collect(),
        })
        .collect();
    serde_json::to_string_pretty(&entries).expect("strings, numbers and arrays serialize")
}
