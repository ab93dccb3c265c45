//! The table of `cargo xtask doctor`.

use comfy_table::{CellAlignment, Table, presets};

/// A table in the one style of these tasks, its columns from `numbers` on aligned to the right.
pub(crate) fn table(header: &[&str], numbers: std::ops::Range<usize>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .force_no_tty()
        .set_header(header.iter().copied());
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table as text without the blanks that cells leave at line ends.
pub(crate) fn rendered(table: &Table) -> String {
    table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
