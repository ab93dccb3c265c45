//! A map as a picture.

use std::fmt::Write as _;

use super::{left_out, named, plural};
use crate::dram::Map;
use crate::report::Look;

/// What is drawn, at the most.
const CHANNELS: u64 = 8;
const BANKS: u64 = 8;
/// Bursts of a bank.
const ROWS: u64 = 4;

impl Map {
    /// The elements in their channels and banks, as a picture.
    pub fn text(&self, look: Look) -> String {
        let dram = self.dram();
        let (channels, banks) = (dram.channels().min(CHANNELS), dram.banks().min(BANKS));
        let mut table = look.table();
        let mut header = vec![String::new()];
        header.extend((0..channels).map(|channel| format!("channel {channel}")));
        table.set_header(header);
        for bank in 0..banks {
            let mut row = vec![format!("bank {bank}")];
            row.extend((0..channels).map(|channel| self.cell(channel, bank)));
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
            self.elements(),
            plural(self.element(), "byte"),
            plural(dram.burst(), "byte"),
            self.a_burst()
        );
        let round =
            u128::from(dram.channels()) * u128::from(dram.banks()) * u128::from(self.a_burst());
        let _ = writeln!(
            text,
            "{round} elements go once around the {} banks; M[{round}] is in channel 0, bank 0 again",
            dram.channels() * dram.banks()
        );
        text
    }

    /// The elements in a bank, a burst a line.
    fn cell(&self, channel: u64, bank: u64) -> String {
        let rows = self.rows(channel, bank);
        let mut lines: Vec<String> = (0..rows.min(ROWS))
            .map(|row| named("M", &self.burst_at(channel, bank, row)))
            .collect();
        if rows > ROWS {
            lines.push(format!("{} more", plural(rows - ROWS, "burst")));
        }
        lines.join("\n")
    }
}
