//! The figures as text: pictures for people, and what they come to in words.

mod bus;
mod map;
mod tiles;

use std::fmt::Write as _;
use std::ops::Range;

pub(super) use bus::{bus_ladder, bus_text};
pub(super) use map::map_text;
pub(super) use tiles::tiles_text;

use comfy_table::{CellAlignment, Table};

/// Elements that are named one by one.
const NAMED: u64 = 4;

/// `M[0] M[1]`, `M[0] … M[7]`.
fn named(array: &str, elements: &Range<u64>) -> String {
    if elements.end - elements.start <= NAMED {
        let all = elements
            .clone()
            .map(|element| format!("{array}[{element}]"));
        return all.collect::<Vec<_>>().join(" ");
    }
    format!(
        "{array}[{}] … {array}[{}]",
        elements.start,
        elements.end - 1
    )
}

fn left_out(text: &mut String, counts: &[(u64, &str)]) {
    let words: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} more", plural(*count, what)))
        .collect();
    if !words.is_empty() {
        let _ = writeln!(text, "not drawn: {}", words.join(", "));
    }
}

fn align(table: &mut Table, columns: &[usize]) {
    for &index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// `1 bank`, `2 banks`.
pub(super) fn plural(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
