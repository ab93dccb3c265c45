//! What a climb brought, shown: a table for people, JSON for programs, Markdown for the README.

mod counted;
mod json;
mod matrix;
pub mod readme;
mod table;

pub use json::json;
pub use matrix::{Sweep, matrix};
pub use table::{Look, list, markdown, table};

use crate::run::{Report, WARM_UP};
use crate::size;

/// When and with what a report was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The day, `2026-04-01`.
    pub date: String,
    /// The compilers of the host and of the device code.
    pub toolchain: String,
}

impl Setting {
    /// Today, with the toolchain that built this program.
    pub fn now() -> Self {
        Self {
            date: jiff::Zoned::now().date().to_string(),
            toolchain: crate::toolchain(),
        }
    }
}

/// What belongs under a table: where, of what, when, with what, and in which regime of the memory.
fn caption(report: &Report, setting: &Setting) -> Vec<String> {
    let Report {
        ladder,
        device,
        n,
        bytes,
        runs,
        ..
    } = report;
    let power = if *n > 1 && n.is_power_of_two() {
        format!(" (2^{})", n.ilog2())
    } else {
        String::new()
    };
    let timing = match runs {
        Some(1) => "1 timed run, device events".to_owned(),
        Some(runs) => format!("median of {runs} runs after {WARM_UP} to warm up, device events"),
        None if report.counted() => "one launch of each, counted and not timed".to_owned(),
        None => "not timed".to_owned(),
    };
    let mut lines = vec![
        format!("{} on {device}", ladder.name),
        format!(
            "n = {n}{power}, {timing}; {}; {}",
            setting.date, setting.toolchain
        ),
    ];
    if report.counted() {
        lines.push(counted::LEGEND.to_owned());
    }
    if let (Some(l2), Some(_)) = (device.l2_bytes, runs)
        && *bytes < l2
    {
        lines.push(format!(
            "the data ({}) fit into the L2 cache ({}): these are the cache's numbers, not the memory's",
            size::bytes(*bytes),
            size::bytes(l2)
        ));
    }
    lines
}
