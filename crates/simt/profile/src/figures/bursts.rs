//! A block's requests to global memory as bursts of DRAM channels and banks, phase by phase.

use std::collections::{BTreeMap, BTreeSet};

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::{Recording, Request};
use crate::dram::DramAddress;

pub(super) const BURSTS: Drawing =
    Drawing { name: "bursts", about: "a block's requests as bursts of channels and banks of DRAM", draw };

/// The maximum numbers of drawn figures, requests and rows of bursts.
const FIGURES: usize = 16;
const REQUESTS: usize = 16;
const ROWS: u64 = 16;
/// The maximum number of channels for which a grid shows each burst's first byte.
const NAMED: u64 = 32;

fn draw(recording: &Recording) -> Vec<Figure> {
    let mut groups: BTreeMap<(u32, &'static str), Vec<&Request>> = BTreeMap::new();
    for request in &recording.of_block {
        groups.entry((request.phase, request.verb())).or_default().push(request);
    }
    let left_out = groups.len().saturating_sub(FIGURES);
    let drawn = groups.iter().take(FIGURES);
    let mut figures: Vec<Figure> = drawn.map(|(key, requests)| figure(recording, *key, requests)).collect();
    if let Some(last) = figures.last_mut() {
        if left_out > 0 {
            last.notes.push(format!("{left_out} more phases are left out"));
        }
        if recording.is_cut {
            last.notes.push("not all requests of the block are kept; use a smaller problem or block".to_owned());
        }
    }
    figures
}

/// Returns the bursts that a request touches, without duplicates: for each burst, its buffer and its location. The
/// location assumes that the buffer begins at the first bank of the first channel.
fn bursts(recording: &Recording, request: &Request) -> BTreeSet<(usize, DramAddress)> {
    let dram = &recording.watch.dram;
    let of_lane = |(_, address): (usize, u64)| {
        let (buffer, at) = recording.in_buffer(address).unwrap_or((usize::MAX, address));
        dram.bursts(at, request.bytes.into()).map(move |burst| (buffer, dram.place(burst * dram.burst)))
    };
    request.lanes().flat_map(of_lane).collect()
}

fn figure(recording: &Recording, (phase, verb): (u32, &'static str), requests: &[&Request]) -> Figure {
    let dram = &recording.watch.dram;
    let by_request: Vec<(u32, BTreeSet<(usize, DramAddress)>)> =
        requests.iter().map(|request| (request.warp, bursts(recording, request))).collect();
    let touched: BTreeSet<(usize, DramAddress)> =
        by_request.iter().flat_map(|(_, bursts)| bursts.iter().copied()).collect();
    let buffers: BTreeSet<usize> = touched.iter().map(|(buffer, _)| *buffer).collect();
    let columns: Vec<String> = (0..dram.channels).map(|channel| channel.to_string()).collect();
    let together = if dram.channels > 8 { 8 } else { 1 };
    let grid = |caption: String, rows: Vec<FigureRow>| Grid {
        caption,
        columns: columns.clone(),
        together,
        rows,
        arrows: Vec::new(),
    };
    let number = |count: usize| match count {
        0 => Cell::new("·", Shade::Idle),
        count => Cell::new(count, Shade::Used),
    };
    let mut grids = Vec::new();
    for buffer in &buffers {
        let places: Vec<DramAddress> =
            touched.iter().filter(|(number, _)| number == buffer).map(|(_, place)| *place).collect();
        let name = if *buffer == usize::MAX { "other memory".to_owned() } else { format!("buffer {buffer}") };
        let at = |row: u64, bank: u64, channel: u64| {
            places.iter().any(|p| (p.row, p.bank, p.channel) == (row, bank, channel))
        };
        let (low, high) =
            (places.iter().map(|p| p.row).min().unwrap_or(0), places.iter().map(|p| p.row).max().unwrap_or(0));
        if dram.channels <= NAMED && (high - low + 1) * dram.banks <= ROWS {
            let cells = |row: u64, bank: u64| {
                let cell = |channel: u64| {
                    let first = ((row * dram.banks + bank) * dram.channels + channel) * dram.burst;
                    Cell::new(first, if at(row, bank, channel) { Shade::Used } else { Shade::Idle })
                };
                FigureRow { label: format!("bank {bank}, row {row}"), cells: (0..dram.channels).map(cell).collect() }
            };
            let rows = (low..=high).flat_map(|row| (0..dram.banks).map(move |bank| (row, bank)));
            let rows: Vec<FigureRow> = rows.map(|(row, bank)| cells(row, bank)).collect();
            grids.push(grid(
                format!("bursts of {name} by channel (columns) and bank: the first byte of each, colored if it moves"),
                marked(rows),
            ));
        }
        let count = |bank: u64, channel: u64| places.iter().filter(|p| (p.bank, p.channel) == (bank, channel)).count();
        let row = |bank: u64| FigureRow {
            label: format!("bank {bank}"),
            cells: (0..dram.channels).map(|channel| number(count(bank, channel))).collect(),
        };
        grids.push(grid(
            format!("how many bursts of {name} move, by channel (columns) and bank"),
            (0..dram.banks).map(row).collect(),
        ));
    }
    let prefix = if by_request.len() > REQUESTS {
        format!("the first {REQUESTS} of {} ", by_request.len())
    } else {
        String::new()
    };
    let row = |(warp, bursts): &(u32, BTreeSet<(usize, DramAddress)>)| {
        let count = |channel: u64| bursts.iter().filter(|(_, place)| place.channel == channel).count();
        // Bursts of the same channel occupy its bus one after another.
        let cell = |channel: u64| match count(channel) {
            0 | 1 => number(count(channel)),
            more => Cell::new(more, Shade::Turn((more - 1).min(4))),
        };
        FigureRow { label: format!("warp {warp}"), cells: (0..dram.channels).map(cell).collect() }
    };
    grids.push(grid(
        format!("{prefix}requests, in order: bursts by channel (columns), which are serialized within a channel"),
        by_request.iter().take(REQUESTS).map(row).collect(),
    ));
    let busiest =
        (0..dram.channels).map(|channel| touched.iter().filter(|(_, place)| place.channel == channel).count()).max();
    let busy = |key: fn(&DramAddress) -> (u64, u64)| {
        touched.iter().map(|(_, place)| key(place)).collect::<BTreeSet<_>>().len() as u64
    };
    let requested_bytes: u64 =
        requests.iter().map(|request| u64::from(request.mask.count_ones()) * u64::from(request.bytes)).sum();
    let position = recording.position(requests[0].site);
    Figure {
        what: BURSTS.name,
        title: format!(
            "{verb} of block {} after {phase} barrier{}",
            recording.watch.block,
            if phase == 1 { "" } else { "s" }
        ),
        source: position.source,
        ptx_line: position.ptx_line,
        grids,
        counts: vec![
            ("requests", requests.len() as u64),
            ("bursts", touched.len() as u64),
            ("bursts of all requests", by_request.iter().map(|(_, bursts)| bursts.len() as u64).sum()),
            ("channels", busy(|place| (place.channel, 0))),
            ("banks", busy(|place| (place.channel, place.bank))),
            ("bursts of the busiest channel", busiest.unwrap_or(0) as u64),
            ("bytes requested by threads", requested_bytes),
            ("bytes that move", touched.len() as u64 * dram.burst),
        ],
        notes: vec![format!(
            "channels {}, banks per channel {}, bytes per burst {}, interleaved; each buffer begins at bank 0 of channel 0",
            dram.channels, dram.banks, dram.burst
        )],
        ..Figure::default()
    }
}

/// Replaces the text of each burst that does not move with a dot, so that the rows are readable without colors.
fn marked(mut rows: Vec<FigureRow>) -> Vec<FigureRow> {
    let idle = rows.iter_mut().flat_map(|row| &mut row.cells).filter(|cell| cell.shade == Shade::Idle);
    idle.for_each(|cell| cell.text = "·".to_owned());
    rows
}
