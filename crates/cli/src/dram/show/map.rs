//! A map as a picture.

use std::fmt::Write as _;

use super::{left_out, named, plural};
use crate::report::OutputStyle;
use analysis::dram::Map;

/// What is drawn, at the most.
const CHANNELS: u64 = 8;
const BANKS: u64 = 8;
/// Bursts of a bank.
const ROWS: u64 = 4;

/// The elements in their channels and banks, as a picture.
pub(in crate::dram) fn map_text(map: &Map, style: OutputStyle) -> String {
    let dram = map.dram();
    let (channels, banks) = (dram.channels().min(CHANNELS), dram.banks().min(BANKS));
    let mut table = style.table();
    let mut header = vec![String::new()];
    header.extend((0..channels).map(|channel| format!("channel {channel}")));
    table.set_header(header);
    for bank in 0..banks {
        let mut row = vec![format!("bank {bank}")];
        row.extend((0..channels).map(|channel| map_cell(map, channel, bank)));
        table.add_row(row);
    }
    let mut text = format!("{}\n", table.trim_fmt());
    left_out(
        &mut text,
        &[
            (dram.channels() - channels, "channel"),
            (dram.banks() - banks, "bank"),
        ],
    );
    let _ = writeln!(
        text,
        "{} elements of {} in bursts of {}, {} to a burst: burst after burst goes to the next channel, and after \
         the last channel to the next bank",
        map.elements(),
        plural(map.element(), "byte"),
        plural(dram.burst(), "byte"),
        map.a_burst()
    );
    let round = u128::from(dram.channels()) * u128::from(dram.banks()) * u128::from(map.a_burst());
    let _ = writeln!(
        text,
        "{round} elements go once around the {} banks; M[{round}] is in channel 0, bank 0 again",
        dram.channels() * dram.banks()
    );
    text
}

/// The elements in a bank, a burst a line.
fn map_cell(map: &Map, channel: u64, bank: u64) -> String {
    let rows = map.rows(channel, bank);
    let mut lines: Vec<String> = (0..rows.min(ROWS))
        .map(|row| named("M", &map.burst_at(channel, bank, row)))
        .collect();
    if rows > ROWS {
        lines.push(format!("{} more", plural(rows - ROWS, "burst")));
    }
    lines.join("\n")
}
