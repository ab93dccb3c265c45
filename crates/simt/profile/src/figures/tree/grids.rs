//! The pictures of a tree.

use std::collections::{BTreeSet, HashMap};

use super::super::figure::{Arrow, Cell, FigureRow, Grid, Shade};
use super::super::flow::{Graph, Id, Kind, MemoryAddress};
use super::{Round, Tree};

/// The maximum numbers of columns and rounds of the picture. For a larger tree, only the last rounds are drawn, because
/// only a few sums remain in these rounds.
const COLUMNS: usize = 64;
const ROUNDS: usize = 12;
/// The maximum number of rows that show the lanes of rounds.
const LISTED: usize = 16;

/// A column: the index of an element or a thread, and a slot number, because several values may share the index.
type Column = (u64, usize);

/// Draws the location of each sum and its operands, with arrows from round to round.
pub(super) fn tree(graph: &Graph, tree: &Tree) -> Option<Grid> {
    let last = tree.rounds.len().checked_sub(1)?;
    let pictures = (0..tree.rounds.len().min(ROUNDS)).map(|back| picture(graph, tree, last - back));
    let grids = pictures.take_while(|grid| grid.columns.len() <= COLUMNS);
    grids.last()
}

/// Returns the column of a sum: the address where it was stored, or the thread that computed it.
fn index(graph: &Graph, tree: &Tree, id: Id, shared: u64) -> u64 {
    let value = graph.value(id);
    match value.stored {
        Some(MemoryAddress::Shared(at)) => (at - shared.min(at)) / 4,
        Some(MemoryAddress::Buffer(buffer, at)) => {
            let bytes = graph.loaded.iter().find(|element| element.buffer == buffer).map_or(4, |element| element.bytes);
            match tree.begins.get(&buffer) {
                Some(begin) => (at / u64::from(bytes)).saturating_sub(*begin),
                None => value.thread.into(),
            }
        }
        None => value.thread.into(),
    }
}

/// Draws the rounds from `first` on, and the values that exist before them.
fn picture(graph: &Graph, tree: &Tree, first: usize) -> Grid {
    let rounds = &tree.rounds[first..];
    let sums = tree.rounds.iter().flat_map(|round| &round.additions);
    let shared = sums.filter_map(|addition| match graph.value(addition.value).stored {
        Some(MemoryAddress::Shared(at)) => Some(at),
        _ => None,
    });
    let shared = shared.min().unwrap_or(0);
    let is_element = |id: Id| matches!(graph.value(id).kind, Kind::Loaded(_));
    let (mut made, mut last_use): (HashMap<Id, usize>, HashMap<Id, usize>) = (HashMap::new(), HashMap::new());
    for (number, round) in rounds.iter().enumerate() {
        for addition in &round.additions {
            made.insert(addition.value, number + 1);
            last_use.insert(addition.value, rounds.len() + 1);
            for term in &addition.terms {
                last_use.insert(term.value, number + 1);
            }
        }
    }
    // The values before the first round and after each round. Sums appear until their use, elements just before it.
    let mut values_by_row: Vec<Vec<Id>> = vec![Vec::new(); rounds.len() + 1];
    for (number, round) in rounds.iter().enumerate() {
        for addition in &round.additions {
            values_by_row[number + 1].push(addition.value);
            for term in &addition.terms {
                let born =
                    if is_element(term.value) { number } else { made.get(&term.value).map_or(0, |round| round + 1) };
                for row in &mut values_by_row[born..=number] {
                    if !row.contains(&term.value) {
                        row.push(term.value);
                    }
                }
            }
        }
    }
    let mut columns: HashMap<Id, Column> = HashMap::new();
    for (number, row) in values_by_row.iter().enumerate() {
        let mut occupied: BTreeSet<Column> = row.iter().filter_map(|id| columns.get(id).copied()).collect();
        for id in row {
            if columns.contains_key(id) {
                continue;
            }
            // An element that is added in a later round is drawn next to its sum.
            let adding_round =
                rounds.get(number).filter(|_| is_element(*id) && (number + first > 0 || tree.begins.len() > 1));
            let user = adding_round.and_then(|round| {
                round.additions.iter().find(|addition| addition.terms.iter().any(|term| term.value == *id))
            });
            let sum_id = user.map_or(*id, |user| user.value);
            let index = index(graph, tree, sum_id, shared);
            let slot = (0..).find(|slot| !occupied.contains(&(index, *slot))).unwrap_or(0);
            occupied.insert((index, slot));
            columns.insert(*id, (index, slot));
        }
    }
    let column_order: Vec<Column> = columns.values().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let number_of: HashMap<Column, usize> = column_order.iter().copied().zip(0..).collect();
    let at = |id: &Id| columns.get(id).and_then(|column| number_of.get(column)).copied().unwrap_or(0);
    let mut rows: Vec<FigureRow> = Vec::new();
    for (number, ids) in values_by_row.iter().enumerate() {
        let label = match number + first {
            0 => "elements".to_owned(),
            round => format!("round {round}"),
        };
        let mut cells = vec![Cell::default(); column_order.len()];
        for id in ids {
            let value = graph.value(*id);
            cells[at(id)] = match value.kind {
                Kind::Loaded(element) => {
                    let element = &graph.loaded[element as usize];
                    let index = element.at / u64::from(element.bytes.max(1));
                    Cell::new(tree.name((element.buffer, index)), Shade::Idle)
                }
                _ if made.get(id) == Some(&number) => Cell::new(value.thread, Shade::Used),
                _ => Cell::new(value.thread, Shade::Idle),
            };
        }
        rows.push(FigureRow { label, cells });
    }
    let mut arrows = Vec::new();
    for (row, pair) in values_by_row.windows(2).enumerate() {
        // Sums that are not used in this round stay in their column.
        let waits = pair[0].iter().filter(|id| pair[1].contains(id) && !is_element(**id));
        arrows.extend(waits.map(|id| Arrow { row, from: at(id), to: at(id) }));
        for addition in &rounds[row].additions {
            let to = at(&addition.value);
            arrows.extend(addition.terms.iter().map(|term| Arrow { row, from: at(&term.value), to }));
        }
    }
    let of_all =
        if first > 0 { format!("the last {} of {} rounds: ", rounds.len(), tree.rounds.len()) } else { String::new() };
    Grid {
        caption: format!(
            "{of_all}sums by the element or thread that holds them (columns) and round (rows); a sum shows the thread that \
             adds it"
        ),
        columns: column_order
            .iter()
            .map(|(index, slot)| if *slot == 0 { index.to_string() } else { String::new() })
            .collect(),
        together: 8,
        rows,
        arrows,
    }
}

/// Returns a row for each round. Consecutive rounds that look alike share a row. If there are too many rows, only the
/// first and last rows are shown.
fn by_round(tree: &Tree, cells: impl Fn(&Round) -> Vec<Cell>) -> (Vec<FigureRow>, &'static str) {
    let numbered_rounds: Vec<(usize, Vec<Cell>)> = (1..).zip(tree.rounds.iter().map(cells)).collect();
    let alike = numbered_rounds.chunk_by(|a, b| a.1 == b.1).filter_map(|rounds| {
        let (first, last) = (rounds.first()?, rounds.last()?);
        let label = match first.0 == last.0 {
            true => format!("round {}", first.0),
            false => format!("rounds {} to {}", first.0, last.0),
        };
        Some(FigureRow { label, cells: first.1.clone() })
    });
    let rows: Vec<FigureRow> = alike.collect();
    let count = rows.len();
    let is_shown = |number: usize| count <= LISTED || number < LISTED / 2 || number >= count - LISTED / 2;
    let shown_rows = rows.into_iter().enumerate().filter(|(number, _)| is_shown(*number)).map(|(_, row)| row);
    (shown_rows.collect(), if count > LISTED { " (the first and last rows)" } else { "" })
}

/// Draws the operations of a warp's lanes in each round.
pub(super) fn lanes(tree: &Tree, warp: usize) -> Option<Grid> {
    let cells = |round: &Round| {
        let mask = round.lanes.get(warp).copied().unwrap_or(0);
        let addition_of =
            |lane: usize| round.additions.iter().find(|addition| addition.thread as usize == warp * 32 + lane);
        let cell = |lane: usize| match (mask >> lane & 1, addition_of(lane)) {
            (0, _) => Cell::new("·", Shade::Idle),
            (_, Some(addition)) => {
                let name = match (addition.terms.last(), tree.begins.len()) {
                    (Some(term), 1) => tree.name(term.head),
                    _ => "+".to_owned(),
                };
                Cell::new(name, Shade::Used)
            }
            (_, None) => Cell::new("+", Shade::Turn(1)),
        };
        (0..32).map(cell).collect()
    };
    let (rows, some) = by_round(tree, cells);
    let works = tree.rounds.iter().any(|round| round.lanes.get(warp).is_some_and(|lanes| *lanes != 0));
    works.then(|| Grid {
        caption: format!(
            "the lanes of warp {warp} (columns) by round{some}: the element whose sum the lane adds; yellow + is work \
             that the result does not need; · idles"
        ),
        columns: (0..32).map(|lane| lane.to_string()).collect(),
        together: 8,
        rows,
        arrows: Vec::new(),
    })
}

/// Draws the number of lanes of each warp that work in each round.
pub(super) fn warps(tree: &Tree, warps: usize) -> Option<Grid> {
    let cells = |round: &Round| {
        let cell = |warp: usize| match round.lanes.get(warp).map_or(0, |lanes| lanes.count_ones()) {
            0 => Cell::new("·", Shade::Idle),
            32 => Cell::new(32, Shade::Used),
            some => Cell::new(some, Shade::Turn(1)),
        };
        (0..warps).map(cell).collect()
    };
    let (rows, some) = by_round(tree, cells);
    Some(Grid {
        caption: format!(
            "lanes that work, by warp (columns) and round{some}; if fewer than 32 lanes of a warp work, the others wait"
        ),
        columns: (0..warps).map(|warp| warp.to_string()).collect(),
        together: 8,
        rows,
        arrows: Vec::new(),
    })
}

/// Describes each round. Consecutive rounds in which the same threads add share a description.
pub(super) fn words(tree: &Tree, warps: usize) -> Vec<String> {
    let threads = |round: &Round| round.additions.iter().map(|addition| addition.thread).collect::<BTreeSet<_>>();
    let alike = tree.rounds.chunk_by(|a, b| a.phase == b.phase && threads(a) == threads(b));
    let mut number = 1;
    let mut words = Vec::new();
    for rounds in alike {
        let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { continue };
        let work = first.lanes.iter().filter(|lanes| **lanes != 0).count();
        let split = first.lanes.iter().filter(|lanes| !matches!(**lanes, 0 | u32::MAX)).count();
        let is_sum = rounds.iter().flat_map(|round| &round.additions).all(|addition| addition.operation == "add");
        let what = if is_sum { "addition" } else { "operation" };
        let additions = |count: usize| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let who = format!(
            "{} of {warps} warp{} work{}{}",
            work,
            if warps == 1 { "" } else { "s" },
            if work == 1 { "s" } else { "" },
            match split {
                0 => String::new(),
                split => format!(", {split} with idle lanes"),
            }
        );
        let count = additions(first.additions.len());
        words.push(match rounds.len() {
            1 => format!("round {number}: {}: {count}, {who}", tree.sums(first)),
            more => format!(
                "rounds {number} to {}: {} … at last {}: {count} each, {who}",
                number + more - 1,
                tree.sums(first),
                tree.sums(last)
            ),
        });
        number += rounds.len();
    }
    words
}
