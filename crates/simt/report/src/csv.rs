//! A report as CSV, with the columns of `ncu --csv --page raw`.
//!
//! The table has a header, a row of units, and a row for each explained launch. The columns that describe the launch
//! come first, followed by the metrics, sorted by name. `gpu__time_duration.sum` is the predicted time.

use std::collections::BTreeSet;

use simt::counters::METRICS;

use crate::launch::LaunchRecord;

/// The columns that every launch has, in the order of `ncu`.
const LAUNCH: [&str; 11] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];
/// The metric for the predicted time.
const TIME: &str = "gpu__time_duration.sum";

/// Returns the table of a program's launches, in order.
pub(crate) fn table(program: &str, capability: (u32, u32), launches: &[&LaunchRecord]) -> String {
    let counted = launches.iter().flat_map(|launch| launch.counters.keys());
    // Only Nsight Compute's names have two underscores after the first word.
    let names: BTreeSet<&str> = counted.map(String::as_str).filter(|name| name.contains("__")).chain([TIME]).collect();
    let mut table = String::new();
    table += &row(LAUNCH.into_iter().chain(names.iter().copied()));
    table += &row(LAUNCH.map(|_| "").into_iter().chain(names.iter().map(|name| unit(name))));
    let process = std::process::id().to_string();
    for (id, launch) in launches.iter().enumerate() {
        let sides = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let columns = [
            id.to_string(),
            process.clone(),
            program.to_owned(),
            "127.0.0.1".to_owned(),
            launch.kernel.clone(),
            "1".to_owned(),
            "7".to_owned(),
            sides(launch.block),
            sides(launch.grid),
            "0".to_owned(),
            format!("{}.{}", capability.0, capability.1),
        ];
        let metrics = names.iter().map(|name| match *name {
            TIME => format!("{:.0}", launch.predicted_ns),
            name => launch.counters.get(name).map_or(String::new(), |number| digits(*number)),
        });
        table += &row(columns.into_iter().chain(metrics));
    }
    table
}

/// Returns a row of cells, each in quotation marks.
fn row(cells: impl Iterator<Item = impl AsRef<str>>) -> String {
    let cells = cells.map(|cell| format!("\"{}\"", cell.as_ref().replace('"', "\"\"")));
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// Returns the unit of a metric; empty for a plain number.
fn unit(name: &str) -> &'static str {
    match name {
        TIME => "ns",
        name => METRICS.iter().find(|metric| metric.name == name).map_or("", |metric| match metric.unit {
            "bytes" => "byte",
            "sectors" => "sector",
            other => other,
        }),
    }
}

/// Formats a number as `ncu` does: whole numbers without decimals, other numbers with two decimals.
fn digits(number: f64) -> String {
    match number.fract() == 0.0 {
        true => format!("{number:.0}"),
        false => format!("{number:.2}"),
    }
}
