//! A bus as a picture of its banks' turns, and as a table of how many banks do how much.

use std::fmt::Write as _;

use super::{align, left_out, plural};
use crate::report::OutputStyle;
use analysis::dram::{Bus, Moment};

/// Banks and units of time that are drawn, at the most.
const LANES: u64 = 24;
const MOMENTS: u64 = 96;

/// What the banks do over time, how busy that keeps the bus, and what other numbers of banks would; then the
/// channels that each of `demands`, in GB/s, takes.
pub(in crate::dram) fn bus_text(bus: &Bus, demands: &[f64], style: OutputStyle) -> String {
    let ratio = bus.ratio();
    let mut text = bus_timeline(bus);
    let mut table = style.table();
    table.set_header(["banks", "bus busy", "GB/s"]);
    for banks in bus_ladder(bus) {
        let bus = bus.with_banks(banks);
        table.add_row([
            banks.to_string(),
            format!("{:.1} %", bus.utilisation() * 100.0),
            format!("{:.2}", bus.bandwidth()),
        ]);
    }
    align(&mut table, &[0, 1, 2]);
    let _ = writeln!(text, "{}", table.trim_fmt());
    let _ = writeln!(
        text,
        "latency to transfer {}:{}, {} a channel: the bus is busy {:.1} % of the time and moves {:.2} of {} GB/s",
        ratio.latency,
        ratio.transfer,
        plural(bus.banks(), "bank"),
        bus.utilisation() * 100.0,
        bus.bandwidth(),
        bus.peak()
    );
    let _ = writeln!(
        text,
        "to be busy all the time it takes {}: R + 1, rounded up; more make it less likely that two accesses want the \
         same bank",
        plural(bus.saturating(), "bank")
    );
    for &demand in demands {
        let _ = writeln!(
            text,
            "{demand} GB/s take {} such channels, all of them busy",
            bus.channels_for(demand)
        );
    }
    text
}

/// Numbers of banks to compare: powers of two up to what saturates the bus, that, and this bus's own.
pub(in crate::dram) fn bus_ladder(bus: &Bus) -> Vec<u64> {
    let enough = bus.saturating();
    let powers = (0..).map(|power| 1 << power);
    let mut banks: Vec<u64> = powers.take_while(|banks| *banks < enough).collect();
    banks.extend([enough, bus.banks()]);
    banks.sort_unstable();
    banks.dedup();
    banks
}

/// The banks' accesses and transfers, a line each, and the bus below them.
fn bus_timeline(bus: &Bus) -> String {
    let period = bus.period();
    let transfer = bus.ratio().transfer;
    // Two rounds; of long ones, from shortly before the first burst.
    let end = (2 * period).min(MOMENTS);
    let first = if bus.ratio().latency + transfer <= MOMENTS {
        0
    } else {
        bus.ratio().latency.saturating_sub(MOMENTS / 4)
    };
    let mut text = String::new();
    let width = format!("bank {}", bus.banks().min(LANES) - 1).len();
    for bank in 0..bus.banks().min(LANES) {
        let line: String = (first..first + end)
            .map(|time| match bus.at(bank, time) {
                Moment::Idle => ' ',
                Moment::Access => '░',
                Moment::Transfer => '█',
                Moment::Waits => '·',
            })
            .collect();
        let _ = writeln!(
            text,
            "{:width$} {}",
            format!("bank {bank}"),
            line.trim_end()
        );
    }
    let shared: String = (first..first + end)
        .map(|time| match bus.on_the_bus(time) {
            Some(_) => '█',
            None => '─',
        })
        .collect();
    let _ = writeln!(text, "{:width$} {shared}", "bus");
    if first > 0 {
        let _ = writeln!(
            text,
            "not drawn: the first {first} units of time, in which no burst is sent yet"
        );
    }
    left_out(&mut text, &[(bus.banks() - bus.banks().min(LANES), "bank")]);
    text += "░ a bank looks for its burst, █ the burst is on the bus";
    text += if bus.banks() > bus.saturating() {
        ", · it waits for the bus\n"
    } else {
        "\n"
    };
    text
}
