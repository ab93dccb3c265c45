//! A warp's request to global memory: the words and cache lines that each lane accesses.

use std::collections::{BTreeMap, BTreeSet};

use ptx::ast::Space;
use simt::observe::AccessKind;

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::{Recording, Request, times};

pub(super) const ACCESS: Drawing =
    Drawing { name: "access", about: "requests to global memory: lanes, sectors and lines", draw };

/// Bytes per cache line, per sector and per word.
const LINE: u64 = 128;
const SECTOR: u64 = 32;
const WORD: u64 = 4;

fn draw(recording: &Recording) -> Vec<Figure> {
    recording.alike(Space::Global).iter().map(|alike| figure(recording, alike)).collect()
}

fn figure(recording: &Recording, alike: &[&Request]) -> Figure {
    let request = alike[0];
    let mut lanes: BTreeMap<u64, u32> = BTreeMap::new();
    let mut lines: BTreeMap<u64, FigureRow> = BTreeMap::new();
    for (lane, address) in request.lanes() {
        for word in address / WORD..(address + u64::from(request.bytes)).div_ceil(WORD) {
            *lanes.entry(word).or_default() |= 1 << lane;
        }
    }
    for (&word, &lanes) in &lanes {
        let address = word * WORD;
        let row = lines.entry(address / LINE).or_insert_with(|| FigureRow {
            label: recording.place(address / LINE * LINE),
            cells: vec![Cell::default(); (LINE / WORD) as usize],
        });
        let place = (address % LINE / WORD) as usize;
        let sector = place / 8 * 8;
        for cell in &mut row.cells[sector..sector + 8] {
            if cell.shade == Shade::Empty {
                *cell = Cell::new("·", Shade::Idle);
            }
        }
        row.cells[place] = Cell::new(lanes_in_words(lanes), Shade::Used);
    }
    let sectors: BTreeSet<u64> = lanes.keys().map(|word| word * WORD / SECTOR).collect();
    let elements: BTreeSet<u64> = request.lanes().map(|(_, address)| address).collect();
    let (sectors, used) = (sectors.len() as u64, elements.len() as u64 * u64::from(request.bytes));
    let mut counts = vec![
        ("lanes", u64::from(request.mask.count_ones())),
        ("bytes per lane", request.bytes.into()),
        ("lines", lines.len() as u64),
        ("sectors", sectors),
        ("bytes moved", sectors * SECTOR),
        ("bytes used", used),
    ];
    let metric = match request.kind {
        AccessKind::Load | AccessKind::AsyncCopy => "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        AccessKind::Store => "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        AccessKind::Atomic => "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        AccessKind::Reduction => "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    };
    let counted = recording.counted(request, metric).map(|counted| counted as u64);
    counts.extend(counted.map(|counted| ("sectors counted", counted)));
    let mut notes = Vec::new();
    if counted.is_some_and(|counted| counted > sectors) {
        notes.push("an atomic takes one pass over a sector per lane that updates the same word".to_owned());
    }
    notes.extend(times(alike));
    let position = recording.position(request.site);
    Figure {
        what: ACCESS.name,
        title: format!("{} of global memory", request.verb()),
        source: position.source,
        ptx_line: position.ptx_line,
        grids: vec![Grid {
            caption: "lanes by 4-byte word (columns) and 128-byte line (rows); · moves but is not used".to_owned(),
            columns: (0..LINE / WORD).map(|word| word.to_string()).collect(),
            together: 8,
            rows: lines.into_values().collect(),
            arrows: Vec::new(),
        }],
        counts,
        notes,
        ..Figure::default()
    }
}

/// Returns the text for the lanes that access a word: `5`, or `5+` for several lanes whose lowest is 5.
pub(super) fn lanes_in_words(lanes: u32) -> String {
    let more = if lanes.count_ones() > 1 { "+" } else { "" };
    format!("{}{more}", lanes.trailing_zeros())
}
