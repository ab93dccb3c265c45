//! The table of kernels.

use serde::Serialize;
use toolkit::Usage;

use super::{rendered, table};
use crate::ptx::Module;

/// One kernel's line, as `--json` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The kernel.
    pub name: String,
    /// The architecture it was assembled for; `None` if it was not assembled.
    pub arch: Option<String>,
    /// PTX instructions.
    pub instructions: usize,
    /// What `ptxas` said; its fields are null if it did not.
    #[serde(flatten)]
    pub usage: Option<Usage>,
}

/// One row a kernel, by name; the numbers in names by their value, so that `_64` comes before `_1024`.
#[must_use]
pub fn rows(
    module: &Module,
    assembled: Option<(&str, &std::collections::BTreeMap<String, Usage>)>,
) -> Vec<Row> {
    let row = |entry: &crate::ptx::Function| {
        let usage = assembled.and_then(|(_, usages)| usages.get(&entry.name).copied());
        Row {
            name: entry.name.clone(),
            arch: usage.and(assembled).map(|(arch, _)| arch.to_owned()),
            instructions: entry.instructions().count(),
            usage,
        }
    };
    let mut rows: Vec<_> = module.entries().map(row).collect();
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

/// The table for people.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    let header = [
        "kernel",
        "registers",
        "shared B",
        "spilled B (st/ld)",
        "stack B",
        "PTX instructions",
    ];
    let mut table = table(&header, 1..6);
    for row in rows {
        let cell = |value: fn(&Usage) -> String| row.usage.as_ref().map_or_else(String::new, value);
        table.add_row([
            row.name.clone(),
            cell(|usage| usage.registers.to_string()),
            cell(|usage| usage.shared_bytes.to_string()),
            cell(|usage| format!("{}/{}", usage.spill_store_bytes, usage.spill_load_bytes)),
            cell(|usage| usage.stack_bytes.to_string()),
            row.instructions.to_string(),
        ]);
    }
    rendered(&table)
}

/// The rows as one JSON array.
#[must_use]
pub fn json(rows: &[Row]) -> String {
    serde_json::to_string_pretty(rows).expect("rows hold strings and numbers only") + "\n"
}
