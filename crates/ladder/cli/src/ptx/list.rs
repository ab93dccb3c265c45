//! The tables of kernels.

use std::collections::BTreeMap;

use engine::Catalog;
use ptx::ast::{Function, Module};
use serde::Serialize;
use toolkit::Usage;

use crate::output::{Column, Document, Importance, NOTHING, Table};

/// The JSON record of one kernel.
#[derive(Serialize)]
pub(super) struct KernelRecord {
    name: String,
    /// The architecture that the kernel was assembled for; `None` if it was not assembled.
    arch: Option<String>,
    instructions: usize,
    /// The report of `ptxas`; the fields are null if it failed.
    #[serde(flatten)]
    usage: Option<Usage>,
}

/// Returns a row for each kernel, sorted by name. Numbers in names are compared by value, so `_64` precedes `_1024`.
pub(super) fn rows<'m, 'a: 'm>(
    kernels: impl Iterator<Item = &'m Function<'a>>,
    assembled: Option<(&str, BTreeMap<String, Usage>)>,
) -> Vec<KernelRecord> {
    let row = |entry: &Function<'_>| {
        let assembled = assembled.as_ref();
        let usage = assembled.and_then(|(_, usages)| usages.get(entry.name).copied());
        KernelRecord {
            name: entry.name.to_owned(),
            arch: assembled.filter(|_| usage.is_some()).map(|(arch, _)| (*arch).to_owned()),
            instructions: entry.instructions().count(),
            usage,
        }
    };
    let mut rows: Vec<_> = kernels.map(row).collect();
    rows.sort_by_cached_key(|row| by_value(&row.name));
    rows
}

/// Splits a name into pieces that sort in natural order: text, then the number after it.
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

/// Returns the rows as a table, with a record for each row.
pub(super) fn document(rows: &[KernelRecord]) -> Document {
    let mut table = Table::new([
        Column::name("kernel"),
        Column::number("registers"),
        Column::number("shared B"),
        Column::number("spilled B (st/ld)").of(Importance::Medium),
        Column::number("stack B").of(Importance::Medium),
        Column::number("PTX instructions"),
    ]);
    let mut document = Document::default();
    for row in rows {
        let cell = |value: fn(&Usage) -> String| row.usage.as_ref().map_or_else(String::new, value);
        table.row([
            row.name.clone(),
            cell(|usage| usage.registers.to_string()),
            cell(|usage| usage.shared_bytes.to_string()),
            cell(|usage| format!("{}/{}", usage.spill_store_bytes, usage.spill_load_bytes)),
            cell(|usage| usage.stack_bytes.to_string()),
            row.instructions.to_string(),
        ]);
        document.record(row);
    }
    document.table(table);
    document
}

/// Returns a row for each ladder: the number of its kernels, and the smallest and largest number of instructions.
pub(super) fn ladders(module: &Module<'_>, catalog: &Catalog) -> Document {
    let mut kernels: BTreeMap<&str, usize> =
        entries(module).map(|entry| (entry.name, entry.instructions().count())).collect();
    let numbers = ["rungs", "kernels", "fewest PTX instructions", "most"].map(Column::number);
    let mut table = Table::new([Column::name("ladder")].into_iter().chain(numbers));
    let row = |name: &str, rungs: &str, instructions: &[usize]| {
        let [fewest, most] = [instructions.iter().min(), instructions.iter().max()];
        let count = |count: Option<&usize>| count.map_or(NOTHING.to_owned(), usize::to_string);
        [name.to_owned(), rungs.to_owned(), instructions.len().to_string(), count(fewest), count(most)]
    };
    for ladder in catalog.ladders {
        let names = ladder.rungs.iter().flat_map(|rung| rung.entry_names());
        let instructions: Vec<usize> = names.filter_map(|name| kernels.remove(&*name)).collect();
        table.row(row(ladder.name, &ladder.rungs.len().to_string(), &instructions));
    }
    table.row(row("others", "", &kernels.into_values().collect::<Vec<_>>()));
    let mut document = Document::default();
    document.table(table);
    document.note("more: `ladder ptx LADDER` lists kernels, `ladder ptx RUNG` shows one; --all lists every kernel");
    document
}

/// Returns the kernels of a module.
pub(super) fn entries<'m, 'a>(module: &'m Module<'a>) -> impl Iterator<Item = &'m Function<'a>> {
    module.functions.iter().filter(|function| function.entry && function.body.is_some())
}
