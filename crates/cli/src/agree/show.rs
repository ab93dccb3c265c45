//! The report, in Markdown.

use std::fmt::Write as _;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use analysis::agree::class::Class;
use analysis::agree::metrics::{BRANCHES, INSTRUCTIONS, METRICS, Rule, UNIFORM, find};
use analysis::agree::record::{Comparison, Measured, Record, Row, Run, Summary};

/// The report of a record: how many comparisons came out how, every number that is not exact, what cannot be
/// compared, and where it was measured.
pub(super) fn markdown(record: &Record) -> String {
    let mut text = String::new();
    if record.runs.is_empty() {
        text += "Nothing has been compared yet.\n";
    } else {
        text += &summary(record);
        text += "\n### What is not exact\n\n";
        text += &differences(record);
        text += "\n### What counts different things\n\n";
        text += &information(record);
        text += "\n### What is compared\n\n";
        text += &compared();
        text += "\n### Where it was measured\n\n";
        text += &circumstances(record);
    }
    if !record.not_yet.is_empty() {
        text += "\n### What has not been compared yet\n\n";
        for (ladder, rungs) in &record.not_yet {
            let rungs: Vec<String> = rungs.iter().map(|rung| code(rung)).collect();
            put(&mut text, &format!("- {ladder}: {}", rungs.join(", ")));
        }
    }
    text
}

fn put(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes all that is written");
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// A table, of whose columns all but the first `words` are numbers.
fn table(header: &[&str], words: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).force_no_tty();
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

fn summary(record: &Record) -> String {
    let row = |ladder: &str, case: &str, summary: Summary| -> Vec<String> {
        let words = [ladder.to_owned(), case.to_owned()].into_iter();
        let numbers = summary.columns().map(|(_, number)| number.to_string());
        words.chain(numbers).collect()
    };
    let mut rows: Vec<Vec<String>> = record
        .runs
        .iter()
        .map(|run| row(&run.ladder, &run.case(), run.summary()))
        .collect();
    rows.push(row("all", "", record.runs.iter().map(Run::summary).sum()));
    let names = Summary::default().columns().map(|(name, _)| name);
    table(&[&["ladder", "problem"], &names[..]].concat(), 2, rows)
}

/// Every comparison that is not exact.
fn differences(record: &Record) -> String {
    let mut text = String::new();
    for run in &record.runs {
        let mut rows = Vec::new();
        for row in &run.rungs {
            for (metric, comparison) in row.comparisons(run) {
                let Some(comparison) = comparison else {
                    continue;
                };
                if matches!(comparison.class, Class::Exact | Class::Information) {
                    continue;
                }
                rows.push(vec![
                    code(&row.rung),
                    metric.heading.to_owned(),
                    class(comparison),
                    number(comparison.sim),
                    number(comparison.ncu),
                    difference(comparison),
                ]);
            }
        }
        if !rows.is_empty() {
            let header = ["rung", "metric", "how", "sim", "GPU", "difference"];
            put(&mut text, &format!("{}: {}\n", run.ladder, run.case()));
            put(&mut text, &table(&header, 3, rows));
        }
    }
    if text.is_empty() {
        text += "Nothing: all numbers are the same on both sides.\n";
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn class(comparison: &Comparison) -> String {
    match &comparison.why[..] {
        [] => comparison.class.name().to_owned(),
        why => format!("{}: {}", comparison.class.name(), why.join("; ")),
    }
}

/// A number, with two decimals where it is no whole one.
fn number(number: Option<f64>) -> String {
    match number {
        None => "none".to_owned(),
        Some(number) if number.fract() == 0.0 => format!("{number:.0}"),
        Some(number) => format!("{number:.2}"),
    }
}

fn difference(comparison: &Comparison) -> String {
    match (comparison.sim, comparison.ncu) {
        (Some(sim), Some(gpu)) if sim != 0.0 => format!("{:+.1} %", (gpu - sim) / sim * 100.0),
        _ => String::new(),
    }
}

/// Instructions and branches, which are those of PTX on one side and of SASS on the other.
fn information(record: &Record) -> String {
    let mut text = String::new();
    for run in &record.runs {
        let names = [INSTRUCTIONS, BRANCHES, UNIFORM];
        let here: Vec<&str> = names
            .into_iter()
            .filter(|name| run.metrics.iter().any(|own| own == name))
            .collect();
        let mut header = vec!["rung".to_owned()];
        for heading in here.iter().filter_map(|name| find(name)) {
            header.push(format!("{} (PTX)", heading.heading));
            header.push("(SASS)".to_owned());
        }
        let cells = |row: &Row| {
            let mut cells = vec![code(&row.rung)];
            for name in &here {
                let comparison = row.metrics.get(*name);
                let of = |side: fn(&Comparison) -> Option<f64>| {
                    number(comparison.map_or(Some(0.0), side))
                };
                cells.extend([of(|both| both.sim), of(|both| both.ncu)]);
            }
            cells
        };
        let rows = run.rungs.iter().map(cells).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        put(&mut text, &format!("{}: {}\n", run.ladder, run.case()));
        put(&mut text, &table(&header, 1, rows));
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The metrics and what has to hold of each.
fn compared() -> String {
    let rows = METRICS.iter().map(|metric| {
        let rule = match metric.rule {
            Rule::Requests | Rule::Counts => "the same",
            Rule::TwoPlaces => "the same to two places",
            Rule::Arbitrated => "on the GPU up to 6 % more, for arbitration",
            Rule::Information => "not compared: PTX on one side, SASS on the other",
        };
        vec![
            metric.heading.to_owned(),
            code(metric.name),
            rule.to_owned(),
        ]
    });
    table(
        &["metric", "name", "the GPU's has to be"],
        3,
        rows.collect(),
    )
}

/// Each place once, with the runs that are from there, and what they lack.
fn circumstances(record: &Record) -> String {
    let mut places: Vec<(&Measured, Vec<&Run>)> = Vec::new();
    for run in &record.runs {
        match places.iter_mut().find(|(own, _)| **own == run.measured) {
            Some((_, runs)) => runs.push(run),
            None => places.push((&run.measured, vec![run])),
        }
    }
    let mut text = String::new();
    for (measured, runs) in places {
        let mut ladders: Vec<&str> = runs.iter().map(|run| run.ladder.as_str()).collect();
        ladders.dedup();
        put(
            &mut text,
            &format!("- {}: {}", ladders.join(", "), place(measured)),
        );
    }
    for run in &record.runs {
        let lacking: Vec<&str> = METRICS
            .iter()
            .filter(|metric| !run.metrics.iter().any(|own| own == metric.name))
            .map(|metric| metric.heading)
            .collect();
        let line = format!("- {}: not counted: {}", run.ladder, lacking.join("; "));
        // Of several runs on one GPU once.
        if !lacking.is_empty() && !text.contains(&line) {
            put(&mut text, &line);
        }
        for why in &run.left_out {
            let case = run.case();
            put(
                &mut text,
                &format!("- {}: {case}: left out: {why}", run.ladder),
            );
        }
    }
    text
}

fn place(measured: &Measured) -> String {
    let Measured {
        device,
        capability,
        driver,
        ncu,
        ptxas,
        date,
        toolchain,
    } = measured;
    let mut parts = vec![device.clone()];
    if let Some((major, minor)) = capability {
        parts.push(format!("compute capability {major}.{minor}"));
    }
    parts.extend(driver.iter().map(|driver| format!("driver {driver}")));
    parts.extend(ncu.clone());
    parts.extend(ptxas.iter().map(|version| format!("ptxas {version}")));
    format!("{}; {date}; {toolchain}", parts.join(", "))
}
