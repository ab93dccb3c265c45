//! A warp's request to shared memory: the words and banks that each lane accesses, and the wavefront of each access.

use std::collections::BTreeMap;

use ptx::ast::Space;
use simt::counters::BankWord;
use simt::observe::AccessKind;

use super::access::lanes_in_words;
use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::{Recording, Request, times};

pub(super) const BANKS: Drawing =
    Drawing { name: "banks", about: "requests to shared memory: lanes, banks and wavefronts", draw };

const COUNT: usize = 32;

fn draw(recording: &Recording) -> Vec<Figure> {
    recording.alike(Space::Shared).iter().map(|alike| figure(recording, alike)).collect()
}

fn figure(recording: &Recording, alike: &[&Request]) -> Figure {
    let request = alike[0];
    let wavefronts = recording.wavefronts(request);
    let empty = |label: String| FigureRow { label, cells: vec![Cell::default(); COUNT] };
    let cell = |bank_word: &BankWord, turn| {
        let shade = if turn == 0 { Shade::Used } else { Shade::Turn(turn) };
        Cell::new(lanes_in_words(bank_word.lanes), shade)
    };
    let mut rows: BTreeMap<u64, FigureRow> = BTreeMap::new();
    // An atomic may access a word in several wavefronts.
    let mut words: BTreeMap<u64, (usize, BankWord)> = BTreeMap::new();
    let mut turns = Vec::new();
    for (turn, moved) in wavefronts.iter().enumerate() {
        let mut row = empty(format!("wavefront {turn}"));
        for bank_word in moved {
            row.cells[bank_word.word as usize % COUNT] = cell(bank_word, turn);
            words.entry(bank_word.word).or_insert((turn, BankWord { lanes: 0, ..*bank_word })).1.lanes |=
                bank_word.lanes;
        }
        turns.push(row);
    }
    for (turn, bank_word) in words.values() {
        let number = bank_word.word / COUNT as u64;
        let row = rows.entry(number).or_insert_with(|| empty(format!("byte {}", number * 4 * COUNT as u64)));
        row.cells[bank_word.word as usize % COUNT] = cell(bank_word, *turn);
    }
    let drawn = wavefronts.len() as u64;
    let (of_all, conflicts) = match request.kind {
        AccessKind::Load => ("wavefronts_mem_shared_op_ld", Some("conflicts_pipe_lsu_mem_shared_op_ld")),
        AccessKind::Store => ("wavefronts_mem_shared_op_st", Some("conflicts_pipe_lsu_mem_shared_op_st")),
        AccessKind::Atomic | AccessKind::Reduction => ("wavefronts_mem_shared_op_atom", None),
        // No metric counts the wavefronts of asynchronous copies.
        AccessKind::AsyncCopy => ("", None),
    };
    let count = |metric: String| recording.counted(request, &metric).map(|counted| counted as u64);
    let mut counts = vec![
        ("lanes", u64::from(request.mask.count_ones())),
        ("bytes per lane", request.bytes.into()),
        ("words", words.len() as u64),
        ("wavefronts", drawn),
    ];
    counts.extend(count(format!("l1tex__data_pipe_lsu_{of_all}.sum")).map(|number| ("wavefronts counted", number)));
    let conflicts = conflicts.and_then(|name| count(format!("l1tex__data_bank_{name}.sum")));
    counts.extend(conflicts.map(|number| ("wavefronts due to bank conflicts", number)));
    let columns: Vec<String> = (0..COUNT).map(|bank| bank.to_string()).collect();
    let grid = |caption: &str, rows| {
        let (caption, columns) = (caption.to_owned(), columns.clone());
        Grid { caption, columns, together: 8, rows, arrows: Vec::new() }
    };
    let mut grids = vec![grid("lanes by bank (columns) and 128-byte row", rows.into_values().collect())];
    if drawn > 1 {
        grids.push(grid("the wavefronts in order: each moves one word per bank", turns));
    }
    let position = recording.position(request.site);
    Figure {
        what: BANKS.name,
        title: format!("{} of shared memory", request.verb()),
        source: position.source,
        ptx_line: position.ptx_line,
        grids,
        counts,
        notes: times(alike),
        ..Figure::default()
    }
}
