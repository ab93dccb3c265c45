//! What a climb brought, shown: a table for people, JSON for programs, Markdown for the README.

mod columns;
mod json;
mod matrix;
mod picture;
mod table;

pub(crate) use columns::duration;
pub(crate) use json::json;
pub(crate) use matrix::{Checked, Sweep, matrix};
pub(crate) use picture::pictures;
pub(crate) use table::{OutputStyle, list, markdown, table};

use engine::Provenance;
use engine::run::{Report, WARM_UP};
use engine::size;

/// What belongs under a table: where, of what, when, with what, and in which regime of the memory.
fn caption(report: &Report, provenance: &Provenance) -> Vec<String> {
    let Report {
        ladder,
        device,
        title,
        bytes,
        runs,
        sets,
        ..
    } = report;
    let timing = match runs {
        Some(1) => "1 timed run, device events".to_owned(),
        Some(runs) => format!("median of {runs} runs after {WARM_UP} to warm up, device events"),
        None if report.counted() => "one launch of each, counted and not timed".to_owned(),
        None => "not timed".to_owned(),
    };
    let mut lines = vec![
        format!("{} on {device}", ladder.name),
        format!(
            "{title}, {timing}; {}; {}",
            provenance.date, provenance.toolchain
        ),
    ];
    lines.extend(report.left_out.iter().map(|why| format!("left out: {why}")));
    if report.counted() {
        let legends = ladder
            .shown
            .counted
            .iter()
            .map(|&column| columns::ColumnText::of(column).legend);
        let legends: Vec<&str> = legends.filter(|legend| !legend.is_empty()).collect();
        lines.push(legends.join("; "));
    }
    // What is measured by its operations says nothing of the memory.
    if let (Some(l2), Some(_), None) = (device.l2_bytes, runs, report.flops)
        && *bytes < l2
    {
        lines.push(regime(*bytes, *sets, l2));
    }
    lines
}

/// Where the data of a launch are when it begins.
pub fn regime(bytes: u64, sets: usize, l2: u64) -> String {
    let (data, cache) = (size::bytes(bytes), size::bytes(l2));
    let all = bytes.saturating_mul(sets as u64);
    if bytes > l2 {
        format!(
            "the data ({data}) are larger than the L2 cache ({cache}): these are the memory's numbers"
        )
    } else if all >= 2 * l2 {
        format!(
            "the data ({data}) fit into the L2 cache ({cache}), but launches take {sets} sets of them in turn: \
             these are the memory's numbers"
        )
    } else {
        format!(
            "the data ({data}) fit into the L2 cache ({cache}): these are the cache's numbers, not the memory's"
        )
    }
}
