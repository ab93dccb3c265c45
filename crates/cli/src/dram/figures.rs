//! The chapter's figures as pictures and tables, with their results in words.

use std::ops::Range;

use crate::output::{Column, Document, Table};
use analysis::dram::{Bus, Load, Map, Matrix, Moment, Tiles};

/// Elements that are named one by one.
const NAMED: u64 = 4;
/// Blocks of a product whose loads are drawn.
const BLOCKS: usize = 4;

/// The elements in their channels and banks: a line of a cell is a burst.
pub(super) fn map(map: &Map) -> Document {
    let dram = &map.dram;
    let channels = (0..dram.channels()).map(|channel| Column::text(format!("channel {channel}")));
    let mut table = Table::new([Column::text("")].into_iter().chain(channels));
    for bank in 0..dram.banks() {
        let cells = (0..dram.channels()).map(|channel| {
            let bursts = map.bursts(channel, bank).into_iter();
            let lines: Vec<String> = bursts.map(|elements| named("M", elements)).collect();
            lines.join("\n")
        });
        table.row([format!("bank {bank}")].into_iter().chain(cells));
    }
    let mut document = Document::default();
    document.table(table);
    let in_a_burst = dram.burst() / map.element;
    let (banks, count) = (dram.channels() * dram.banks(), map.elements.len());
    document.paragraph(format!(
        "{count} elements of {} in bursts of {}, {in_a_burst} to a burst: burst after burst goes to the next channel, \
         and after the last channel to the next bank",
        plural(map.element, "byte"),
        plural(dram.burst(), "byte"),
    ));
    let round = banks * in_a_burst;
    document.paragraph(format!(
        "{round} elements go once around the {banks} banks; M[{round}] is in channel 0, bank 0 again"
    ));
    document
}

/// The loads of the first matrix by the first blocks, and a summary of all blocks' loads in each phase.
pub(super) fn tiles(tiles: &Tiles) -> Document {
    let mut document = Document::default();
    let (blocks, all) = (tiles.blocks().take(BLOCKS), tiles.blocks().count());
    let header = [Column::text(format!("M, {0} × {0}", tiles.n))];
    let columns = blocks
        .clone()
        .map(|(down, across)| Column::text(format!("block {down},{across}")));
    let mut table = Table::new(header.into_iter().chain(columns));
    for phase in 0..tiles.side() {
        let loaded = blocks
            .clone()
            .map(|block| loads(tiles.loads(Matrix::M, phase, block)));
        table.row([format!("phase {phase}")].into_iter().chain(loaded));
    }
    document.table(table);
    if all > BLOCKS {
        document.paragraph(format!("the first {BLOCKS} of {all} blocks"));
    }

    let (channels, banks) = (tiles.dram.channels(), tiles.dram.banks());
    let mut table = Table::new([
        Column::text("phase"),
        Column::text("matrix"),
        Column::number("accesses"),
        Column::number("bursts"),
        Column::text("channels busy"),
        Column::text("banks busy"),
        Column::number("busiest channel"),
    ]);
    for own in &tiles.phases {
        let busy: Vec<String> = own.channels.iter().map(u64::to_string).collect();
        let most = own.bursts_by_channel.iter().max();
        table.row([
            own.phase.to_string(),
            format!("{:?}", own.matrix),
            own.accesses.to_string(),
            own.bursts.to_string(),
            format!("{} of {channels}: {}", busy.len(), busy.join(", ")),
            format!("{} of {}", own.banks.len(), channels * banks),
            plural(most.copied().unwrap_or(0), "burst"),
        ]);
    }
    document.table(table);
    for matrix in [Matrix::M, Matrix::N] {
        let phases = || tiles.phases.iter().filter(|own| own.matrix == matrix);
        let busy = phases().map(|own| own.channels.len());
        let each = match (busy.clone().min(), busy.max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (_, most) => most.unwrap_or(0).to_string(),
        };
        let mut ever: Vec<u64> = phases().flat_map(|own| own.channels.clone()).collect();
        ever.sort_unstable();
        ever.dedup();
        document.paragraph(format!(
            "{matrix:?}: {each} of {channels} channels busy in a phase, {} over all phases",
            ever.len()
        ));
    }
    document.paragraph(
        "accesses are the rows of the blocks' tiles; bursts are counted once for all blocks that load them, as a cache \
         would have it",
    );
    document
}

/// The activity of the banks over time, the bus utilisation that results, and that of other numbers of banks.
pub(super) fn bus(bus: &Bus) -> Document {
    let mut document = Document::default();
    document.paragraph(format!(
        "a DDR bus of {} bits at {1} GHz: {2} B × 2 × {1} GHz = {3} GB/s",
        bus.width_bits,
        bus.clock_ghz,
        bus.width_bits as f64 / 8.0,
        bus.peak_gb_per_s
    ));
    document.picture(|_| timeline(bus));
    let mut table = Table::new(["banks", "bus busy", "GB/s"].map(Column::number));
    for with in &bus.by_banks {
        table.row([
            with.banks.to_string(),
            format!("{:.1} %", with.utilisation * 100.0),
            format!("{:.2}", with.gb_per_s),
        ]);
    }
    document.table(table);
    document.paragraph(format!(
        "latency to transfer {}:1, {} a channel: the bus is busy {:.1} % of the time and moves {:.2} of {} GB/s",
        bus.ratio,
        plural(bus.own.banks, "bank"),
        bus.own.utilisation * 100.0,
        bus.own.gb_per_s,
        bus.peak_gb_per_s
    ));
    document.paragraph(format!(
        "to be busy all the time it takes {}: R + 1; more make it less likely that two accesses want the same bank",
        plural(bus.banks_to_saturate, "bank")
    ));
    for demand in &bus.channels_for {
        document.paragraph(format!(
            "{} GB/s take {} such channels, all of them busy",
            demand.gb_per_s, demand.channels
        ));
    }
    document
}

/// A line for each bank, and the bus below them.
fn timeline(bus: &Bus) -> String {
    let width = format!("bank {}", bus.own.banks - 1).len();
    let mut text = String::new();
    for (bank, lane) in bus.timeline.iter().enumerate() {
        let line: String = lane
            .iter()
            .map(|moment| match moment {
                Moment::Idle => ' ',
                Moment::Access => '░',
                Moment::Transfer => '█',
                Moment::Waits => '·',
            })
            .collect();
        text += &format!("{:width$} {}\n", format!("bank {bank}"), line.trim_end());
    }
    let is_sent = |time: usize| {
        bus.timeline
            .iter()
            .any(|lane| lane[time] == Moment::Transfer)
    };
    let end = bus.timeline.first().map_or(0, Vec::len);
    let shared: String = (0..end)
        .map(|time| if is_sent(time) { '█' } else { '─' })
        .collect();
    let waits = if bus.own.banks > bus.banks_to_saturate {
        ", · it waits for the bus"
    } else {
        ""
    };
    text + &format!(
        "{:width$} {shared}\n░ a bank looks for its burst, █ the burst is on the bus{waits}\n",
        "bus"
    )
}

/// A block's loads, three lines each: the elements by row and column, by index, and where they are.
fn loads(loads: Vec<Load>) -> String {
    let mut lines = Vec::new();
    for Load {
        row,
        columns,
        elements,
        bursts,
    } in loads
    {
        let (first, last) = (columns.start, columns.end - 1);
        lines.push(if last - first < NAMED {
            columns
                .map(|column| format!("M{row},{column}"))
                .collect::<Vec<_>>()
                .join(" ")
        } else {
            format!("M{row},{first} … M{row},{last}")
        });
        let places: Vec<String> = bursts
            .iter()
            .map(|place| format!("channel {}, bank {}", place.channel, place.bank))
            .collect();
        lines.push(format!("  {}", named("M", elements)));
        lines.push(format!("  {}", places.join("; ")));
    }
    lines.join("\n")
}

/// `M[0] M[1]`, `M[0] … M[7]`.
fn named(array: &str, elements: Range<u64>) -> String {
    if elements.end - elements.start <= NAMED {
        let all: Vec<String> = elements
            .map(|element| format!("{array}[{element}]"))
            .collect();
        return all.join(" ");
    }
    format!(
        "{array}[{}] … {array}[{}]",
        elements.start,
        elements.end - 1
    )
}

/// `1 bank`, `2 banks`.
pub(super) fn plural(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
