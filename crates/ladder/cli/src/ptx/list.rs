//! The table of kernels.

use std::collections::BTreeMap;

use serde::Serialize;
use toolkit::Usage;

use ptx::ast::{Function, Module};

use super::style::table;

/// The line of one kernel, as `--json` prints it.
#[derive(Serialize)]
pub(super) struct Row {
    name: String,
    /// The architecture it was assembled for; `None` if it was not assembled.
    arch: Option<String>,
    instructions: usize,
    /// The report of `ptxas`; the fields are null if it failed.
    #[serde(flatten)]
    usage: Option<Usage>,
}

/// The table with one row per kernel, by name. Numbers in names are compared by value, so that `_64` comes before
/// `_1024`.
pub(super) fn rows(module: &Module<'_>, assembled: Option<(&str, BTreeMap<String, Usage>)>) -> Vec<Row> {
    let row = |entry: &Function<'_>| {
        let assembled = assembled.as_ref();
        let usage = assembled.and_then(|(_, usages)| usages.get(entry.name).copied());
        Row {
            name: entry.name.to_owned(),
            arch: assembled.filter(|_| usage.is_some()).map(|(arch, _)| (*arch).to_owned()),
            instructions: entry.instructions().count(),
            usage,
        }
    };
    let entries = module.functions.iter().filter(|own| own.entry && own.body.is_some());
    let mut rows: Vec<_> = entries.map(row).collect();
    rows.sort_by_cached_key(|row| by_value(&row.name));
    rows
}

/// A name in pieces that compare as people count: text, then the number after it.
fn by_value(name: &str) -> Vec<(String, Option<u64>)> {
    name.split_inclusive(|c: char| c.is_ascii_digit())
        .collect::<Vec<_>>()
        .chunk_by(|_, next| next.len() == 1)
        .map(|piece| {
            let piece = piece.concat();
            let text = piece.trim_end_matches(|c: char| c.is_ascii_digit());
            (text.to_owned(), piece[text.len()..].parse().ok())
        })
        .collect()
}

pub(super) fn text(rows: &[Row]) -> String {
    let header = ["kernel", "registers", "shared B", "spilled B (st/ld)", "stack B", "PTX instructions"];
    let cells = |row: &Row| {
        let cell = |value: fn(&Usage) -> String| row.usage.as_ref().map_or_else(String::new, value);
        [
            row.name.clone(),
            cell(|usage| usage.registers.to_string()),
            cell(|usage| usage.shared_bytes.to_string()),
            cell(|usage| format!("{}/{}", usage.spill_store_bytes, usage.spill_load_bytes)),
            cell(|usage| usage.stack_bytes.to_string()),
            row.instructions.to_string(),
        ]
    };
    table(header, 1..6, rows.iter().map(cells))
}

/// The rows as one JSON array.
pub(super) fn json(rows: &[Row]) -> String {
    serde_json::to_string_pretty(rows).expect("rows hold strings and numbers only") + "\n"
}
