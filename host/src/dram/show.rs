//! The figures as text: pictures for people, and what they come to in words.

use std::fmt::Write as _;
use std::ops::Range;

use comfy_table::{CellAlignment, Table};

use super::{Bus, Load, Map, Matrix, Moment, Phase, Place, Tiles};
use crate::report::Look;

/// What is drawn of a map, at the most.
const CHANNELS: u64 = 8;
const BANKS: u64 = 8;
const ROWS: u64 = 4;
/// Elements of a burst, or of a row of a tile, that are named one by one.
const NAMED: u64 = 4;
/// What is drawn of a tiled product: block by block, and in sum.
const BLOCKS: u64 = 4;
const PHASES: u64 = 4;
const SUMMED: u64 = 8;
/// Rows of a tile, and bursts of one of them.
const TILE_ROWS: usize = 2;
const BURSTS: usize = 4;
/// Banks and units of time of a timeline.
const LANES: u64 = 24;
const MOMENTS: u64 = 96;

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
            bytes(self.element()),
            bytes(dram.burst()),
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
            .map(|row| elements(&self.burst_at(channel, bank, row)))
            .collect();
        if rows > ROWS {
            lines.push(format!("{} more", plural(rows - ROWS, "burst")));
        }
        lines.join("\n")
    }
}

impl Tiles {
    /// What the first blocks load of the first matrix, as figure 6.11 has it, and what all blocks' loads come to in
    /// each phase.
    pub fn text(&self, look: Look) -> String {
        let mut text = self.blocks(Matrix::M, look);
        text += &self.summary(look);
        text
    }

    fn blocks(&self, matrix: Matrix, look: Look) -> String {
        let side = self.phases();
        let all = (0..side).flat_map(|down| (0..side).map(move |across| (down, across)));
        let blocks: Vec<(u64, u64)> = all.take(BLOCKS as usize).collect();
        let mut table = look.table();
        let mut header = vec![format!("{matrix}, {0} × {0}", self.n())];
        header.extend(
            blocks
                .iter()
                .map(|(down, across)| format!("block {down},{across}")),
        );
        table.set_header(header);
        for phase in 0..side.min(PHASES) {
            let mut row = vec![format!("phase {phase}")];
            row.extend(
                blocks
                    .iter()
                    .map(|&block| loads(matrix, &self.loads(matrix, phase, block))),
            );
            table.add_row(row);
        }
        let mut text = format!("{}\n", table.trim_fmt());
        left_out(
            &mut text,
            &[
                (side * side - blocks.len() as u64, "block"),
                (side - side.min(PHASES), "phase"),
            ],
        );
        text
    }

    fn summary(&self, look: Look) -> String {
        let mut table = look.table();
        table.set_header([
            "phase",
            "matrix",
            "accesses",
            "bursts",
            "channels busy",
            "banks busy",
            "busiest channel",
        ]);
        let (channels, banks) = (self.dram().channels(), self.dram().slots());
        let mut busy = [Matrix::M, Matrix::N].map(|matrix| Busy::new(matrix, channels));
        for phase in 0..self.phases() {
            for busy in &mut busy {
                let loaded = self.phase(busy.matrix, phase);
                busy.add(&loaded);
                if phase >= SUMMED {
                    continue;
                }
                let by_channel = loaded.by_channel();
                let own = loaded.channels();
                table.add_row([
                    phase.to_string(),
                    loaded.matrix.to_string(),
                    loaded.accesses.to_string(),
                    loaded.bursts.to_string(),
                    format!("{} of {channels}: {}", own.len(), numbers(&own)),
                    format!("{} of {banks}", loaded.busy_banks().len()),
                    plural(by_channel.iter().copied().max().unwrap_or(0), "burst"),
                ]);
            }
        }
        align(&mut table, &[2, 3, 6]);
        let mut text = format!("{}\n", table.trim_fmt());
        left_out(
            &mut text,
            &[(self.phases() - self.phases().min(SUMMED), "phase")],
        );
        for busy in busy {
            let _ = writeln!(text, "{}", busy.text(channels));
        }
        text += "accesses are the rows of the blocks' tiles; bursts are counted once for all blocks that load them, \
                 as a cache would have it\n";
        text
    }
}

/// The channels that the phases of a matrix keep busy.
struct Busy {
    matrix: Matrix,
    least: usize,
    most: usize,
    ever: Vec<bool>,
}

impl Busy {
    fn new(matrix: Matrix, channels: u64) -> Self {
        Self {
            matrix,
            least: usize::MAX,
            most: 0,
            ever: vec![false; channels as usize],
        }
    }

    fn add(&mut self, phase: &Phase) {
        let channels = phase.channels();
        self.least = self.least.min(channels.len());
        self.most = self.most.max(channels.len());
        for channel in channels {
            self.ever[channel as usize] = true;
        }
    }

    fn text(&self, channels: u64) -> String {
        let ever = self.ever.iter().filter(|ever| **ever).count();
        let each = if self.least == self.most {
            self.most.to_string()
        } else {
            format!("{} to {}", self.least, self.most)
        };
        format!(
            "{}: {each} of {channels} channels busy in a phase, {ever} over all phases",
            self.matrix
        )
    }
}

/// A block's loads, three lines each: the elements by row and column, by number, and where they are.
fn loads(matrix: Matrix, loads: &[Load]) -> String {
    let mut lines = Vec::new();
    for load in loads.iter().take(TILE_ROWS) {
        let (first, last) = (load.columns.start, load.columns.end - 1);
        let row = load.row;
        let by_place = if last - first < NAMED {
            (first..=last)
                .map(|column| format!("{matrix}{row},{column}"))
                .collect::<Vec<_>>()
                .join(" ")
        } else {
            format!("{matrix}{row},{first} … {matrix}{row},{last}")
        };
        lines.push(by_place);
        lines.push(format!("  {}", named(&matrix.to_string(), &load.elements)));
        lines.push(format!("  {}", places(&load.bursts)));
    }
    if loads.len() > TILE_ROWS {
        lines.push(format!(
            "{} more",
            plural((loads.len() - TILE_ROWS) as u64, "row")
        ));
    }
    lines.join("\n")
}

/// `channel 0, bank 0; channel 1, bank 0`.
fn places(bursts: &[Place]) -> String {
    let mut words: Vec<String> = bursts
        .iter()
        .take(BURSTS)
        .map(|place| format!("channel {}, bank {}", place.channel, place.bank))
        .collect();
    if bursts.len() > BURSTS {
        words.push(format!(
            "{} more",
            plural((bursts.len() - BURSTS) as u64, "burst")
        ));
    }
    words.join("; ")
}

fn elements(elements: &Range<u64>) -> String {
    named("M", elements)
}

/// `M[0] M[1]`, `M[0] … M[7]`.
fn named(array: &str, elements: &Range<u64>) -> String {
    if elements.end - elements.start <= NAMED {
        let all = elements
            .clone()
            .map(|element| format!("{array}[{element}]"));
        return all.collect::<Vec<_>>().join(" ");
    }
    format!(
        "{array}[{}] … {array}[{}]",
        elements.start,
        elements.end - 1
    )
}

/// `0, 2`, and `0 to 3` for numbers in a row.
fn numbers(numbers: &[u64]) -> String {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    let words: Vec<String> = runs
        .iter()
        .take(NAMED as usize)
        .map(|run| match run.end - run.start {
            1 => run.start.to_string(),
            2 => format!("{}, {}", run.start, run.start + 1),
            _ => format!("{} to {}", run.start, run.end - 1),
        })
        .collect();
    let more = if runs.len() > NAMED as usize {
        ", …"
    } else {
        ""
    };
    words.join(", ") + more
}

impl Bus {
    /// What the banks do over time, how busy that keeps the bus, and what other numbers of banks would; then the
    /// channels that each of `demands`, in GB/s, takes.
    pub fn text(&self, demands: &[f64], look: Look) -> String {
        let ratio = self.ratio();
        let mut text = self.timeline();
        let mut table = look.table();
        table.set_header(["banks", "bus busy", "GB/s"]);
        for banks in self.ladder() {
            let bus = self.with_banks(banks);
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
            plural(self.banks(), "bank"),
            self.utilisation() * 100.0,
            self.bandwidth(),
            self.peak()
        );
        let _ = writeln!(
            text,
            "to be busy all the time it takes {}: R + 1, rounded up; more make it less likely that two accesses want the \
             same bank",
            plural(self.saturating(), "bank")
        );
        for &demand in demands {
            let _ = writeln!(
                text,
                "{demand} GB/s take {} such channels, all of them busy",
                self.channels_for(demand)
            );
        }
        text
    }

    /// Numbers of banks to compare: powers of two up to what saturates the bus, that, and this bus's own.
    pub fn ladder(&self) -> Vec<u64> {
        let enough = self.saturating();
        let powers = (0..).map(|power| 1 << power);
        let mut banks: Vec<u64> = powers.take_while(|banks| *banks < enough).collect();
        banks.extend([enough, self.banks()]);
        banks.sort_unstable();
        banks.dedup();
        banks
    }

    /// The banks' accesses and transfers, a line each, and the bus below them.
    fn timeline(&self) -> String {
        let period = self.period();
        let transfer = self.ratio().transfer;
        // Two rounds; of long ones, from shortly before the first burst.
        let end = (2 * period).min(MOMENTS);
        let first = if self.ratio().latency + transfer <= MOMENTS {
            0
        } else {
            self.ratio().latency.saturating_sub(MOMENTS / 4)
        };
        let mut text = String::new();
        let width = format!("bank {}", self.banks().min(LANES) - 1).len();
        for bank in 0..self.banks().min(LANES) {
            let line: String = (first..first + end)
                .map(|time| match self.at(bank, time) {
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
        let bus: String = (first..first + end)
            .map(|time| match self.on_the_bus(time) {
                Some(_) => '█',
                None => '─',
            })
            .collect();
        let _ = writeln!(text, "{:width$} {bus}", "bus");
        if first > 0 {
            let _ = writeln!(
                text,
                "not drawn: the first {first} units of time, in which no burst is sent yet"
            );
        }
        left_out(
            &mut text,
            &[(self.banks() - self.banks().min(LANES), "bank")],
        );
        text += "░ a bank looks for its burst, █ the burst is on the bus";
        text += if self.banks() > self.saturating() {
            ", · it waits for the bus\n"
        } else {
            "\n"
        };
        text
    }
}

fn left_out(text: &mut String, counts: &[(u64, &str)]) {
    let words: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} more", plural(*count, what)))
        .collect();
    if !words.is_empty() {
        let _ = writeln!(text, "not drawn: {}", words.join(", "));
    }
}

fn align(table: &mut Table, columns: &[usize]) {
    for &index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn bytes(count: u64) -> String {
    plural(count, "byte")
}

/// `1 bank`, `2 banks`.
pub(super) fn plural(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
