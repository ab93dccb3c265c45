//! The elements that each prefix of a scan covers, round by round.
//!
//! For each of its elements, a scanning block stores the sum of all elements up to and including that element. Every
//! intermediate value covers a run of neighboring elements. An addition joins two neighboring runs, and a subtraction
//! removes the end of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::figure::{Arrow, Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::flow::{Graph, Id, Kind, MemoryAddress};
use super::record::Recording;
use super::tree::operation;

pub(super) const SCAN: Drawing =
    Drawing { name: "scan", about: "the elements that each prefix of a scan covers, round by round", draw };

/// The maximum number of drawn elements: the first elements of the block.
const COLUMNS: usize = 64;

/// A run of neighboring elements: the first and the last.
type Run = (u64, u64);

/// An intermediate value of a prefix.
struct Sum {
    id: Id,
    run: Run,
    /// The number of preceding barriers, and the length of the chain of operations since the last barrier.
    round: (u32, u32),
    thread: u32,
    operands: Vec<Id>,
}

fn draw(recording: &Recording) -> Vec<Figure> {
    sums(recording).and_then(|sums| figure(recording, &sums)).into_iter().collect()
}

/// Returns the values that contribute to the block's results, elements first; `None` if a value does not cover a run.
fn sums(recording: &Recording) -> Option<Vec<Sum>> {
    let graph = &recording.flow;
    if graph.left_out > 0 {
        return None;
    }
    let text = recording.ptx();
    let mut pending = results(graph)?;
    let mut needed: HashSet<Id> = pending.iter().copied().collect();
    while let Some(id) = pending.pop() {
        pending.extend(graph.parts(id).into_iter().filter(|part| needed.insert(*part)));
    }
    // Operands have smaller numbers than their results.
    let mut order: Vec<Id> =
        needed.into_iter().filter(|id| !matches!(graph.value(*id).kind, Kind::Joined(_))).collect();
    order.sort_unstable();
    let (mut runs, mut buffers): (HashMap<Id, Run>, _) = (HashMap::new(), BTreeSet::new());
    let mut sums = Vec::new();
    for id in order {
        let value = graph.value(id);
        let operands = graph.parts(id);
        let run = if let Kind::Loaded(number) = value.kind {
            let element = &graph.loaded[number as usize];
            buffers.insert(element.buffer);
            let index = element.at / u64::from(element.bytes.max(1));
            (index, index)
        } else {
            let [Some(a), Some(b)] = [0, 1].map(|place| operands.get(place).and_then(|id| runs.get(id)).copied())
            else {
                return None;
            };
            let removes = operation(text.line_text(recording.position(value.site).ptx_line)) == "sub";
            match (a.min(b), a.max(b)) {
                _ if operands.len() != 2 => return None,
                ((first, end), (next, last)) if !removes && end + 1 == next => (first, last),
                (whole, end) if removes && whole.1 == end.1 && whole.0 < end.0 => (whole.0, end.0 - 1),
                _ => return None,
            }
        };
        runs.insert(id, run);
        sums.push(Sum { id, run, round: (value.phase, value.depth), thread: value.thread, operands });
    }
    (buffers.len() == 1).then_some(sums)
}

/// Returns the values in the buffer that receives the most results of the block.
fn results(graph: &Graph) -> Option<Vec<Id>> {
    let mut by_buffer: BTreeMap<usize, BTreeSet<Id>> = BTreeMap::new();
    for (place, id, _) in &graph.results {
        let MemoryAddress::Buffer(buffer, _) = place else { continue };
        let parts = if matches!(graph.value(*id).kind, Kind::Joined(_)) { graph.parts(*id) } else { vec![*id] };
        by_buffer.entry(*buffer).or_default().extend(parts);
    }
    by_buffer.into_values().max_by_key(BTreeSet::len).map(|ids| ids.into_iter().collect())
}

fn figure(recording: &Recording, sums: &[Sum]) -> Option<Figure> {
    let begin = sums.iter().map(|sum| sum.run.0).min()?;
    let ends: BTreeSet<u64> = sums.iter().map(|sum| sum.run.1).collect();
    let prefixes: BTreeSet<Run> = sums.iter().map(|sum| sum.run).filter(|run| run.0 == begin).collect();
    let additions = sums.iter().filter(|sum| !sum.operands.is_empty()).count();
    // A scan has a prefix for each element; an exclusive scan does not need the prefix of the last element.
    if ends.len() < 3 || prefixes.len() + 1 < ends.len() {
        return None;
    }
    let count = ends.len().min(COLUMNS);
    let column = |run: Run| usize::try_from(run.1 - begin).ok().filter(|column| *column < count);
    let ends_of: HashMap<Id, usize> = sums.iter().filter_map(|sum| Some((sum.id, column(sum.run)?))).collect();
    let mut by_round: BTreeMap<(u32, u32), Vec<&Sum>> = BTreeMap::new();
    for sum in sums.iter().filter(|sum| !sum.operands.is_empty()) {
        by_round.entry(sum.round).or_default().push(sum);
    }
    // The start of the run that ends at each column: first the element itself, then longer runs.
    let mut longest: Vec<u64> = (begin..begin + count as u64).collect();
    let cells = |longest: &[u64], changed: &HashSet<usize>| {
        let cell = |(column, first): (usize, &u64)| match (changed.contains(&column), *first == begin) {
            (false, _) => Cell::new(first - begin, Shade::Idle),
            (true, true) => Cell::new(first - begin, Shade::Turn(3)),
            (true, false) => Cell::new(first - begin, Shade::Used),
        };
        longest.iter().enumerate().map(cell).collect()
    };
    let mut rows = vec![FigureRow { label: "elements".to_owned(), cells: cells(&longest, &HashSet::new()) }];
    let (mut arrows, mut lanes) = (Vec::new(), Vec::new());
    for (number, round) in by_round.values().enumerate() {
        let mut changed = HashSet::new();
        for sum in round {
            let Some(column) = column(sum.run).filter(|column| sum.run.0 < longest[*column]) else { continue };
            longest[column] = sum.run.0;
            changed.insert(column);
            let from = sum.operands.iter().filter_map(|id| ends_of.get(id).copied());
            arrows.extend(from.map(|from| Arrow { row: rows.len() - 1, from, to: column }));
        }
        if changed.is_empty() {
            continue;
        }
        let label = format!("round {}", number + 1);
        rows.push(FigureRow { label: label.clone(), cells: cells(&longest, &changed) });
        let lane = |lane: u64| {
            let sum = round.iter().find(|sum| u64::from(sum.thread) == recording.watch.warp * 32 + lane);
            sum.map_or_else(|| Cell::new("·", Shade::Idle), |sum| Cell::new(sum.run.1 - begin, Shade::Used))
        };
        lanes.push(FigureRow { label, cells: (0..32).map(lane).collect() });
    }
    let more = match ends.len() - count {
        0 => String::new(),
        more => format!("; {more} more elements are left out"),
    };
    let prefixes = Grid {
        caption: format!(
            "the sum that ends at each element (columns) begins at the element in the cell; green: added in this round; \
             blue: begins at the first element, so the prefix is complete{more}"
        ),
        columns: (0..count).map(|column| column.to_string()).collect(),
        together: 8,
        rows,
        arrows,
    };
    let work = Grid {
        caption: format!(
            "the lanes of warp {} (columns) by round: the last element of the sum that the lane computes; · idles",
            recording.watch.warp
        ),
        columns: (0..32).map(|lane| lane.to_string()).collect(),
        together: 8,
        rows: lanes,
        arrows: Vec::new(),
    };
    let position = sums.last().map(|sum| recording.position(recording.flow.value(sum.id).site));
    Some(Figure {
        what: SCAN.name,
        title: format!("the prefixes of {} elements", ends.len()),
        source: position.as_ref().and_then(|position| position.source.clone()),
        ptx_line: position.map_or(0, |position| position.ptx_line),
        grids: vec![prefixes, work],
        counts: vec![
            ("elements", ends.len() as u64),
            ("rounds", by_round.len() as u64),
            ("additions", additions as u64),
        ],
        ..Figure::default()
    })
}
