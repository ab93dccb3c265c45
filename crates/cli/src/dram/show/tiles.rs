//! A tiled product as a picture of its first blocks, and as a table of its phases.

use std::fmt::Write as _;
use std::ops::Range;

use super::{NAMED, align, left_out, named, plural};
use crate::report::OutputStyle;
use analysis::dram::{Load, Matrix, Phase, Place, Tiles};

/// What is drawn, at the most.
const BLOCKS: u64 = 4;
const PHASES: u64 = 4;
/// Phases of the table.
const SUMMED: u64 = 8;
/// Rows of a tile, and bursts of one of them.
const TILE_ROWS: usize = 2;
const BURSTS: usize = 4;

/// What the first blocks load of the first matrix, as figure 6.11 has it, and what all blocks' loads come to in
/// each phase.
pub(in crate::dram) fn tiles_text(tiles: &Tiles, style: OutputStyle) -> String {
    let mut text = tiles_blocks(tiles, Matrix::M, style);
    text += &tiles_summary(tiles, style);
    text
}

fn tiles_blocks(tiles: &Tiles, matrix: Matrix, style: OutputStyle) -> String {
    let side = tiles.phases();
    let all = (0..side).flat_map(|down| (0..side).map(move |across| (down, across)));
    let blocks: Vec<(u64, u64)> = all.take(BLOCKS as usize).collect();
    let mut table = style.table();
    let mut header = vec![format!("{matrix}, {0} × {0}", tiles.n())];
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
                .map(|&block| loads(matrix, &tiles.loads(matrix, phase, block))),
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

fn tiles_summary(tiles: &Tiles, style: OutputStyle) -> String {
    let mut table = style.table();
    table.set_header([
        "phase",
        "matrix",
        "accesses",
        "bursts",
        "channels busy",
        "banks busy",
        "busiest channel",
    ]);
    let (channels, banks) = (tiles.dram().channels(), tiles.dram().slots());
    let mut busy = [Matrix::M, Matrix::N].map(|matrix| Busy::new(matrix, channels));
    for phase in 0..tiles.phases() {
        for busy in &mut busy {
            let loaded = tiles.phase(busy.matrix, phase);
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
        &[(tiles.phases() - tiles.phases().min(SUMMED), "phase")],
    );
    for busy in busy {
        let _ = writeln!(text, "{}", busy.text(channels));
    }
    text += "accesses are the rows of the blocks' tiles; bursts are counted once for all blocks that load them, \
             as a cache would have it\n";
    text
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
