//! The chapter's figures as pictures and tables, with a sentence for each result.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;

use crate::output::{Column, Document, Importance, OutputStyle, Table};
use engine::size::plural;
use profile::dram::{Bus, DramAddress, Load, Map, Matrix, Moment, Tiles};

/// The maximum number of elements that are listed one by one.
const NAMED: u64 = 4;
/// The number of blocks of a product whose loads are drawn.
const BLOCKS: usize = 4;

/// Draws the elements in their channels and banks. Each line of a cell is a burst.
pub(super) fn map(map: &Map) -> Document {
    let dram = &map.dram;
    let channels = (0..dram.channels).map(|channel| Column::text(format!("channel {channel}")));
    let mut table = Table::new([Column::text("")].into_iter().chain(channels));
    for bank in 0..dram.banks {
        let cells = (0..dram.channels).map(|channel| join(map.bursts(channel, bank), "\n", named));
        table.row([format!("bank {bank}")].into_iter().chain(cells));
    }
    let mut document = Document::default();
    document.table(table);
    let in_a_burst = dram.burst / map.element;
    let (banks, count) = (dram.channels * dram.banks, map.elements.len());
    document.paragraph(format!(
        "{count} elements of {} in bursts of {}, {in_a_burst} to a burst: consecutive bursts go to consecutive channels, \
         and after the last channel to the next bank",
        plural(map.element, "byte"),
        plural(dram.burst, "byte"),
    ));
    let round = banks * in_a_burst;
    document
        .paragraph(format!("{round} elements fill the {banks} banks once; M[{round}] is in channel 0, bank 0 again"));
    document
}

/// Shows the first blocks' loads from the first matrix, and summarizes all blocks' loads in each phase.
pub(super) fn tiles(tiles: &Tiles) -> Document {
    let mut document = Document::default();
    let (blocks, all) = (tiles.blocks().take(BLOCKS), tiles.blocks().count());
    let header = [Column::text(format!("M, {0} × {0}", tiles.n))];
    let column = |(down, across)| {
        let importance = if (down, across) == (0, 0) { Importance::High } else { Importance::Medium };
        Column::text(format!("block {down},{across}")).of(importance)
    };
    let columns = blocks.clone().map(column);
    let mut table = Table::new(header.into_iter().chain(columns));
    for phase in 0..tiles.side() {
        let loaded = blocks.clone();
        let loaded = loaded.map(|block| loads(tiles.loads(Matrix::M, phase, block)));
        table.row([format!("phase {phase}")].into_iter().chain(loaded));
    }
    document.table(table);
    if all > BLOCKS {
        document.paragraph(format!("the first {BLOCKS} of {all} blocks"));
    }

    let (channels, banks) = (tiles.dram.channels, tiles.dram.banks);
    let mut table = Table::new([
        Column::text("phase"),
        Column::text("matrix"),
        Column::number("accesses"),
        Column::number("bursts"),
        Column::text("channels busy"),
        Column::text("banks busy"),
        Column::number("busiest channel"),
    ]);
    for phase in &tiles.phases {
        let most = phase.bursts_by_channel.iter().max();
        table.row([
            phase.phase.to_string(),
            format!("{:?}", phase.matrix),
            phase.accesses.to_string(),
            phase.bursts.to_string(),
            format!("{} of {channels}: {}", phase.channels.len(), join(&phase.channels, ", ", u64::to_string)),
            format!("{} of {}", phase.banks.len(), channels * banks),
            plural(most.copied().unwrap_or(0), "burst"),
        ]);
    }
    document.table(table);
    for matrix in [Matrix::M, Matrix::N] {
        let phases = || tiles.phases.iter().filter(|phase| phase.matrix == matrix);
        let busy = range(phases().map(|phase| phase.channels.len()));
        let ever: BTreeSet<u64> = phases().flat_map(|phase| phase.channels.clone()).collect();
        let ever = ever.len();
        document
            .paragraph(format!("{matrix:?}: {busy} of {channels} channels busy in a phase, {ever} over all phases"));
    }
    document.paragraph(
        "an access is a row of a block's tile; a burst that several blocks load is counted once, as if a cache served \
         the other blocks",
    );
    document
}

/// Shows the activity of the banks over time and the resulting bus utilization, including the utilization for other
/// numbers of banks.
pub(super) fn bus(bus: &Bus) -> Document {
    let mut document = Document::default();
    document.paragraph(format!(
        "a DDR bus of {} bits at {1} GHz: {2} B × 2 × {1} GHz = {3} GB/s",
        bus.width_bits,
        bus.clock_ghz,
        bus.width_bits as f64 / 8.0,
        bus.peak_gb_per_s
    ));
    document.picture(OutputStyle::default(), |_| timeline(bus));
    let mut table = Table::new(["banks", "bus busy", "GB/s"].map(Column::number));
    for with in &bus.by_banks {
        table.row([
            with.banks.to_string(),
            format!("{:.1} %", with.utilization * 100.0),
            format!("{:.2}", with.gb_per_s),
        ]);
    }
    document.table(table);
    document.paragraph(format!(
        "latency to transfer time {}:1, {} per channel: the bus is busy {:.1} % of the time and moves {:.2} of {} GB/s",
        bus.ratio,
        plural(bus.with_banks.banks, "bank"),
        bus.with_banks.utilization * 100.0,
        bus.with_banks.gb_per_s,
        bus.peak_gb_per_s
    ));
    document.paragraph(format!(
        "to keep the bus always busy takes {} (R + 1); with more, fewer accesses conflict on the same bank",
        plural(bus.banks_to_saturate, "bank")
    ));
    for demand in &bus.channels_for {
        document
            .paragraph(format!("{} GB/s need {} such channels, all of them busy", demand.gb_per_s, demand.channels));
    }
    document
}

/// Draws a line for each bank, and a line for the bus below the banks.
fn timeline(bus: &Bus) -> String {
    let width = format!("bank {}", bus.with_banks.banks - 1).len();
    let mut text = String::new();
    let mark = |moment: &Moment| match moment {
        Moment::Idle => ' ',
        Moment::Access => '░',
        Moment::Transfer => '█',
        Moment::Waits => '·',
    };
    for (bank, lane) in bus.timeline.iter().enumerate() {
        let line: String = lane.iter().map(mark).collect();
        text += &format!("{:width$} {}\n", format!("bank {bank}"), line.trim_end());
    }
    let lanes = bus.timeline.iter();
    let end = bus.timeline.first().map_or(0, Vec::len);
    let shared = (0..end).map(|time| match lanes.clone().any(|lane| lane[time] == Moment::Transfer) {
        true => '█',
        false => '─',
    });
    let shared: String = shared.collect();
    let waits = match bus.with_banks.banks > bus.banks_to_saturate {
        true => ", · the bank waits for the bus",
        false => "",
    };
    text + &format!("{:width$} {shared}\n░ latency of a bank's access, █ the burst is on the bus{waits}\n", "bus")
}

/// Draws a block's loads, three lines each: the elements by row and column, by index, and by channel and bank.
fn loads(loads: Vec<Load>) -> String {
    join(loads, "\n", |load: Load| {
        let elements = each(load.columns, |column| format!("M{},{column}", load.row));
        let place = |place: &DramAddress| format!("channel {}, bank {}", place.channel, place.bank);
        let places = join(&load.bursts, "; ", place);
        format!("{elements}\n  {}\n  {places}", named(load.elements))
    })
}

/// Names a range of elements: `M[0] M[1]`, `M[0] … M[7]`.
fn named(elements: Range<u64>) -> String {
    each(elements, |element| format!("M[{element}]"))
}

/// Formats every number of a short range, or only the first and the last number of a long range.
fn each(numbers: Range<u64>, text: impl Fn(u64) -> String) -> String {
    match numbers.end - numbers.start <= NAMED {
        true => join(numbers, " ", text),
        false => format!("{} … {}", text(numbers.start), text(numbers.end - 1)),
    }
}

fn join<T>(all: impl IntoIterator<Item = T>, separator: &str, text: impl Fn(T) -> String) -> String {
    let texts: Vec<String> = all.into_iter().map(text).collect();
    texts.join(separator)
}

/// Formats the range of some numbers: `3`, or `2 to 4` if the numbers differ.
pub(super) fn range<T: Ord + Display + Default>(numbers: impl Iterator<Item = T> + Clone) -> String {
    match (numbers.clone().min(), numbers.max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (_, most) => most.unwrap_or_default().to_string(),
    }
}
