//! Reports for people.

use anstyle::Style;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, Table};

use super::{Held, Report, Step};
use crate::occupancy::chart::bar;
use crate::report::OutputStyle;
use analysis::occupancy::{Occupancy, words};
use engine::registry::Rung;
use engine::size::{self, dims};

/// One rung: what it takes, how many blocks that makes, and how it changes.
pub(crate) fn details(report: &Report, style: OutputStyle) -> String {
    let bold = if style.terminal {
        Style::new().bold()
    } else {
        Style::new()
    };
    let Report {
        rung, arch, own, ..
    } = report;
    let mut text = format!(
        "{bold}{} on {arch}{bold:#}: {}, blocks of {}\n",
        rung.name,
        own.launch.entry,
        dims(own.launch.block)
    );
    for (what, value) in facts(report) {
        text += &format!("{what:23}{value}\n");
    }
    text += &format!("\n{bold}By block{bold:#}\n{}\n", blocks(report, style));
    let shared = own.shared_bytes();
    text += &format!(
        "\n{bold}By shared memory a block{bold:#} ({} here)\n{}\n",
        size::bytes(shared.into()),
        by_steps(&report.shared, shared, style, |bytes| size::bytes(
            bytes.into()
        ))
    );
    let registers = own.usage.registers;
    text += &format!(
        "\n{bold}By registers a thread{bold:#} ({registers} here)\n{}\n",
        by_steps(&report.registers, registers, style, |count| count
            .to_string())
    );
    text
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let Report { limits, own, .. } = report;
    let Held {
        launch,
        usage,
        occupancy,
    } = own;
    let bytes = |amount: u32| size::bytes(u64::from(amount));
    let mut facts = vec![
        (
            "registers a thread",
            format!(
                "{} of {}; a block is given {}",
                usage.registers, limits.registers_per_thread, occupancy.registers_per_block
            ),
        ),
        ("shared memory a block", {
            let reserved = match limits.shared_reserved {
                0 => String::new(),
                reserved => format!(" with the driver's {}", bytes(reserved)),
            };
            format!(
                "{} static, {} dynamic; a block is given {}{reserved}",
                bytes(usage.shared_bytes),
                bytes(launch.shared_bytes),
                bytes(occupancy.shared_per_block)
            )
        }),
        (
            "spills",
            match (usage.spill_store_bytes, usage.spill_load_bytes) {
                (0, 0) => "none".to_owned(),
                (stores, loads) => {
                    format!("{stores} bytes a thread stored, {loads} loaded back")
                }
            },
        ),
        (
            "blocks an SM",
            format!("{} of {}", occupancy.blocks, limits.blocks),
        ),
        (
            "warps an SM",
            format!("{} of {}", occupancy.warps, limits.warps),
        ),
        ("occupancy", percent(occupancy.fraction())),
    ];
    let threads = u32::try_from(launch.threads()).unwrap_or(u32::MAX);
    let sentences = words::sentences(limits, threads, occupancy);
    let heads = ["limited by"].into_iter().chain(std::iter::repeat(""));
    facts.extend(heads.zip(sentences));
    if let Some(driver) = report.driver {
        let same = if driver.blocks == occupancy.blocks {
            ", as calculated"
        } else {
            ", NOT as calculated"
        };
        facts.push((
            "the driver says",
            format!(
                "{} blocks an SM{same}; {} registers, {} static, {} bytes of local memory",
                driver.blocks,
                driver.registers,
                bytes(driver.static_shared),
                driver.local_bytes
            ),
        ));
    }
    facts
}

fn blocks(report: &Report, style: OutputStyle) -> Table {
    let mut table = table(style, &["block", "regs", "shared"]);
    for held in &report.blocks {
        let is_here = held.launch.block == report.own.launch.block;
        let mut cells = vec![dims(held.launch.block)];
        cells.extend(amounts(held));
        cells.extend(ends(&held.occupancy, style));
        add(&mut table, cells, is_here, style);
    }
    table
}

/// Several rungs, a line each.
pub(crate) fn summary(rungs: &[(&Rung, Held)], style: OutputStyle) -> String {
    let mut table = table(style, &["rung", "block", "regs", "shared"]);
    for (rung, held) in rungs {
        let mut cells = vec![rung.name.to_owned(), dims(held.launch.block)];
        cells.extend(amounts(held));
        cells.extend(ends(&held.occupancy, style));
        table.add_row(cells);
    }
    format!("{}\n", table.trim_fmt())
}

fn amounts(held: &Held) -> [String; 2] {
    [
        held.usage.registers.to_string(),
        size::bytes(held.shared_bytes().into()),
    ]
}

fn by_steps(
    steps: &[Step],
    here: u32,
    style: OutputStyle,
    amount: impl Fn(u32) -> String,
) -> Table {
    let mut table = table(style, &["up to"]);
    for (step, is_here) in shown(steps, here) {
        let mut cells = vec![amount(step.up_to)];
        cells.extend(ends(&step.occupancy, style));
        add(&mut table, cells, is_here, style);
    }
    table
}

/// What all tables end with.
const ENDS: [&str; 4] = ["blocks", "warps", "occupancy", "limited by"];

fn ends(occupancy: &Occupancy, style: OutputStyle) -> [String; ENDS.len()] {
    let share = occupancy.fraction();
    [
        occupancy.blocks.to_string(),
        occupancy.warps.to_string(),
        format!("{:>6} {}", percent(share), bar(share, style)),
        words::names(occupancy),
    ]
}

/// A table of these columns, and of [`ENDS`].
fn table(style: OutputStyle, header: &[&str]) -> Table {
    let mut table = style.table();
    let header = || header.iter().chain(&ENDS);
    table.set_header(header().map(|text| Cell::new(text).add_attribute(Attribute::Bold)));
    for (column, name) in table.column_iter_mut().zip(header()) {
        match *name {
            "regs" | "shared" | "up to" | "blocks" | "warps" => {
                column.set_cell_alignment(CellAlignment::Right);
            }
            // A bar is never broken.
            "occupancy" => {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            _ => {}
        }
    }
    table
}

/// The steps worth a line: the one that is the case, the first and the last, and of the others each that is
/// lower by a fifth than the one before it.
fn shown(steps: &[Step], here: u32) -> Vec<(&Step, bool)> {
    let mut shown: Vec<(&Step, bool)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let is_here = (step.from..=step.up_to).contains(&here);
        let lower = shown
            .last()
            .is_none_or(|(last, _)| step.occupancy.blocks * 5 <= last.occupancy.blocks * 4);
        if is_here || lower || index + 1 == steps.len() {
            shown.push((step, is_here));
        }
    }
    shown
}

/// A row, marked where it is what is the case.
fn add(table: &mut Table, mut cells: Vec<String>, is_here: bool, style: OutputStyle) {
    let mark = match (is_here, style.terminal) {
        (false, _) => " ",
        (true, true) => "▶",
        (true, false) => ">",
    };
    cells[0] = format!("{mark} {}", cells[0]);
    table.add_row(cells.into_iter().map(|text| match is_here {
        true => Cell::new(text).fg(Color::Green),
        false => Cell::new(text),
    }));
}

fn percent(share: f64) -> String {
    // A tenth where there is one: 37.5 %.
    let tenths = (share * 1000.0).round() / 10.0;
    format!("{tenths} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_have_a_tenth_where_they_need_one() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.375), "37.5 %");
        assert_eq!(percent(2.0 / 3.0), "66.7 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
