//! Shows occupancies as tables and sentences.

use crate::output::{Cell, Column, Document, Importance, OutputStyle, Table};
use analysis::occupancy::{EntryOccupancy, Limiter, Limits, Occupancy, RungOccupancy, Step};
use engine::size::{self, dims};

/// The number of cells of a full bar.
const BAR: usize = 12;

/// Shows one rung: its resources, the number of blocks that fit, and how this number changes.
pub(super) fn details(report: &RungOccupancy, style: OutputStyle) -> Document {
    let launch = &report.launch;
    let mut document = Document::default();
    document.heading(
        format!("{} on {}", report.rung, report.arch),
        format!("{}, blocks of {}", launch.entry, dims(launch.block)),
    );
    document.facts(facts(report));

    document.section("By block", "");
    let mut by_block = table([Column::text("block")], true);
    for entry in &report.by_block {
        let is_here = entry.block == launch.block;
        by_block.row(marked(row(entry, style), is_here, style));
    }
    document.table(by_block);

    let shared = launch.shared_bytes();
    document.section(format!("By shared memory per block ({} here)", bytes(shared)), "");
    document.table(by_steps(&report.by_shared_bytes, shared, style, bytes));
    let registers = launch.registers;
    document.section(format!("By registers per thread ({registers} here)"), "");
    let count = |registers: u32| registers.to_string();
    document.table(by_steps(&report.by_registers, registers, style, count));
    document
}

/// Returns a table with a row for each of several rungs.
pub(super) fn summary(rungs: &[(&str, EntryOccupancy)], style: OutputStyle) -> Table {
    let mut table = table([Column::name("rung"), Column::text("block").unbroken()], true);
    for (name, entry) in rungs {
        let cells = row(entry, style);
        table.row([(*name).to_owned()].into_iter().chain(cells));
    }
    table
}

/// Returns a table that starts with these columns and ends with the columns of [`ends`]. With `of_entries`, the columns
/// of an entry's resources are between these two groups.
fn table(first: impl IntoIterator<Item = Column>, of_entries: bool) -> Table {
    let resources = ["regs", "shared"].into_iter().filter(|_| of_entries);
    let ends = [
        Column::number("blocks").of(Importance::Medium),
        Column::number("warps").of(Importance::Low),
        Column::text("occupancy").unbroken(),
        Column::text("limited by"),
    ];
    let resources = resources.map(|heading| Column::number(heading).of(Importance::Medium));
    let first = first.into_iter().chain(resources);
    Table::new(first.chain(ends))
}

fn row(entry: &EntryOccupancy, style: OutputStyle) -> Vec<String> {
    let (registers, shared) = (entry.registers.to_string(), bytes(entry.shared_bytes()));
    let mut cells = vec![dims(entry.block), registers, shared];
    cells.extend(ends(&entry.occupancy, style));
    cells
}

fn ends(occupancy: &Occupancy, style: OutputStyle) -> [String; 4] {
    let names = occupancy.limited_by.iter().map(|limiter| name(*limiter));
    let names: Vec<&str> = names.collect();
    let share = occupancy.fraction;
    [
        occupancy.blocks.to_string(),
        occupancy.warps.to_string(),
        format!("{:>6} {}", percent(share), bar(share, style)),
        names.join(", "),
    ]
}

/// Returns a table of selected steps: the first, the current and the last step, and each step with at most 4/5 of the
/// blocks of the previous row.
fn by_steps(steps: &[Step], here: u32, style: OutputStyle, amount: impl Fn(u32) -> String) -> Table {
    let mut table = table([Column::number("up to")], false);
    let mut before = None;
    for (index, step) in steps.iter().enumerate() {
        let is_here = (step.from..=step.up_to).contains(&here);
        let blocks = step.occupancy.blocks;
        let is_lower = before.is_none_or(|before| blocks * 5 <= before * 4);
        if is_here || is_lower || index + 1 == steps.len() {
            before = Some(blocks);
            let mut cells = vec![amount(step.up_to)];
            cells.extend(ends(&step.occupancy, style));
            table.row(marked(cells, is_here, style));
        }
    }
    table
}

/// Returns the cells of a row, which is marked if it is the current one.
fn marked(mut cells: Vec<String>, is_here: bool, style: OutputStyle) -> Vec<Cell> {
    let mark = match (is_here, style.terminal) {
        (false, _) => " ",
        (true, true) => "▶",
        (true, false) => ">",
    };
    cells[0] = format!("{mark} {}", cells[0]);
    let cell = |text| match is_here {
        true => Cell::good(text),
        false => Cell::from(text),
    };
    cells.into_iter().map(cell).collect()
}

fn facts(report: &RungOccupancy) -> Vec<(&'static str, String)> {
    let (limits, launch) = (&report.limits, &report.launch);
    let occupancy = &launch.occupancy;
    let reserved = match limits.shared_reserved {
        0 => String::new(),
        reserved => format!(" with the driver's {}", bytes(reserved)),
    };
    let spills = match (launch.spill_store_bytes, launch.spill_load_bytes) {
        (0, 0) => "none".to_owned(),
        (stores, loads) => format!("{stores} bytes stored and {loads} loaded per thread"),
    };
    let registers = format!(
        "{} of {}; {} allocated per block",
        launch.registers, limits.registers_per_thread, occupancy.registers_per_block
    );
    let shared = format!(
        "{} static, {} dynamic; {} allocated per block{reserved}",
        bytes(launch.static_shared_bytes),
        bytes(launch.dynamic_shared_bytes),
        bytes(occupancy.shared_per_block)
    );
    let mut facts = vec![
        ("registers per thread", registers),
        ("shared memory per block", shared),
        ("spills", spills),
        ("blocks per SM", format!("{} of {}", occupancy.blocks, limits.blocks)),
        ("warps per SM", format!("{} of {}", occupancy.warps, limits.warps)),
        ("occupancy", percent(occupancy.fraction)),
    ];
    let heads = ["limited by"].into_iter().chain(std::iter::repeat(""));
    let limiters = occupancy.limited_by.iter();
    facts.extend(heads.zip(limiters.map(|limiter| reason(limits, launch, *limiter))));
    if let Some(driver) = report.driver {
        let same = match driver.blocks == occupancy.blocks {
            true => "",
            false => "NOT ",
        };
        let says = format!(
            "{} blocks per SM, {same}as calculated; {} registers, {} static, {} bytes of local memory",
            driver.blocks,
            driver.registers,
            bytes(driver.static_shared),
            driver.local_bytes
        );
        facts.push(("driver", says));
    }
    facts
}

fn name(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Warps => "warps",
        Limiter::Blocks => "blocks",
        Limiter::Registers => "registers",
        Limiter::SharedMemory => "shared memory",
        Limiter::Barriers => "barriers",
    }
}

/// Explains why this resource does not allow more blocks.
fn reason(limits: &Limits, launch: &EntryOccupancy, limiter: Limiter) -> String {
    let occupancy = &launch.occupancy;
    let warps = launch.block.iter().product::<u32>().div_ceil(32);
    // The reason if no block fits, and the reason if some blocks fit.
    let (none, some) = match limiter {
        Limiter::Warps => (
            format!("a block has at most {} threads", limits.threads_per_block),
            format!("a block has {warps} of the {} warps that an SM holds", limits.warps),
        ),
        Limiter::Blocks => ("an SM holds none".to_owned(), format!("an SM holds {} blocks of any size", limits.blocks)),
        Limiter::Registers => (
            format!("at most {} per thread and {} per block", limits.registers_per_thread, limits.registers_per_block),
            format!("a block needs {} of the SM's {}", occupancy.registers_per_block, limits.registers),
        ),
        Limiter::SharedMemory => (
            format!("a block has at most {}", bytes(limits.shared_opt_in)),
            format!("a block needs {} of the SM's {}", bytes(occupancy.shared_per_block), bytes(limits.shared)),
        ),
        Limiter::Barriers => (
            "a block needs more barriers than an SM has".to_owned(),
            format!("an SM has {}", limits.barriers.unwrap_or_default()),
        ),
    };
    match occupancy.blocks {
        0 => format!("{}: no block fits; {none}", name(limiter)),
        _ => format!("{}: {some}", name(limiter)),
    }
}

/// Draws a bar for a share from 0 to 1, with a resolution of 1/8 of a cell on a terminal and in ASCII elsewhere.
fn bar(share: f64, style: OutputStyle) -> String {
    // The conversion rounds NaN to 0.
    let cells = share.clamp(0.0, 1.0) * BAR as f64;
    if !style.terminal {
        let full = cells.round() as usize;
        return "#".repeat(full) + &".".repeat(BAR - full);
    }
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (cells * 8.0).round() as usize;
    let cells = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    format!("{cells:BAR$}")
}

fn bytes(amount: u32) -> String {
    size::bytes(amount.into())
}

/// Formats a share as a percentage, with a decimal only if needed: `37.5 %`.
fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).round() / 10.0;
    format!("{tenths} %")
}

#[cfg(test)]
mod tests;
