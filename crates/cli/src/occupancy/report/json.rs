//! Reports for programs.

use serde::Serialize;

use super::{Held, Report, Step};
use analysis::occupancy::{Limiter, Occupancy};
use engine::device::Resident;

#[derive(Serialize)]
struct Shown<'a> {
    ladder: &'a str,
    rung: &'a str,
    arch: &'a str,
    #[serde(flatten)]
    own: Entry<'a>,
    by_block: Vec<Entry<'a>>,
    by_shared_bytes: Vec<Amount>,
    by_registers: Vec<Amount>,
    driver: Option<Resident>,
}

#[derive(Serialize)]
struct Entry<'a> {
    entry: &'a str,
    block: [u32; 3],
    registers: u32,
    static_shared_bytes: u32,
    dynamic_shared_bytes: u32,
    spill_store_bytes: u32,
    spill_load_bytes: u32,
    barriers: u32,
    #[serde(flatten)]
    found: Found,
}

#[derive(Serialize)]
struct Amount {
    from: u32,
    up_to: u32,
    #[serde(flatten)]
    found: Found,
}

#[derive(Serialize)]
struct Found {
    blocks: u32,
    warps: u32,
    occupancy: f64,
    limited_by: Vec<Limiter>,
}

impl From<&Occupancy> for Found {
    fn from(occupancy: &Occupancy) -> Self {
        Self {
            blocks: occupancy.blocks,
            warps: occupancy.warps,
            occupancy: occupancy.fraction(),
            limited_by: occupancy.limiters().collect(),
        }
    }
}

impl<'a> From<&'a Held> for Entry<'a> {
    fn from(held: &'a Held) -> Self {
        let Held { launch, usage, .. } = held;
        Self {
            entry: &launch.entry,
            block: launch.block,
            registers: usage.registers,
            static_shared_bytes: usage.shared_bytes,
            dynamic_shared_bytes: launch.shared_bytes,
            spill_store_bytes: usage.spill_store_bytes,
            spill_load_bytes: usage.spill_load_bytes,
            barriers: usage.barriers,
            found: (&held.occupancy).into(),
        }
    }
}

impl From<&Step> for Amount {
    fn from(step: &Step) -> Self {
        Self {
            from: step.from,
            up_to: step.up_to,
            found: (&step.occupancy).into(),
        }
    }
}

/// An array with an object for each report.
pub(crate) fn json(reports: &[Report]) -> String {
    let shown: Vec<Shown<'_>> = reports
        .iter()
        .map(|report| Shown {
            ladder: report.ladder.name,
            rung: report.rung.name,
            arch: &report.arch,
            own: (&report.own).into(),
            by_block: report.blocks.iter().map(Entry::from).collect(),
            by_shared_bytes: report.shared.iter().map(Amount::from).collect(),
            by_registers: report.registers.iter().map(Amount::from).collect(),
            driver: report.driver,
        })
        .collect();
    serde_json::to_string_pretty(&shown).expect("strings, numbers and arrays always serialize")
}
