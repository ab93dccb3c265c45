//! The elements that a block loads and uses, phase by phase. A phase is the interval between two barriers.

use std::collections::BTreeMap;

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::flow::Loaded;
use super::record::Recording;

pub(super) const TILES: Drawing =
    Drawing { name: "tiles", about: "what a block loads between barriers, and how often it uses it", draw };

/// The maximum numbers of columns and rows of a grid, and the maximum number of figures.
const COLUMNS: usize = 32;
const ROWS: usize = 32;
const FIGURES: usize = 8;

/// The elements that a block loads from each buffer in a phase, in element order.
type Phase<'a> = BTreeMap<usize, Vec<&'a Loaded>>;

/// A count for an element: the verb, the unit that is counted, and the number.
type Number = (&'static str, &'static str, fn(&Loaded) -> u32);

fn draw(recording: &Recording) -> Vec<Figure> {
    if recording.flow.left_out > 0 {
        return Vec::new();
    }
    let mut phases: BTreeMap<u32, Phase<'_>> = BTreeMap::new();
    for element in &recording.flow.loaded {
        phases.entry(element.phase).or_default().entry(element.buffer).or_default().push(element);
    }
    for elements in phases.values_mut().flat_map(BTreeMap::values_mut) {
        elements.sort_by_key(|element| element.at);
    }
    let mut alike: Vec<Vec<(u32, Phase<'_>)>> = Vec::new();
    for (number, phase) in phases {
        match alike.iter_mut().find(|group| shape(&group[0].1) == shape(&phase)) {
            Some(group) => group.push((number, phase)),
            None => alike.push(vec![(number, phase)]),
        }
    }
    let left_out = alike.len().saturating_sub(FIGURES);
    let mut figures: Vec<Figure> = alike.iter().take(FIGURES).map(|group| figure(recording, group)).collect();
    if let Some(last) = figures.last_mut().filter(|_| left_out > 0) {
        last.notes.push(format!("{left_out} more kinds of phases are not shown"));
    }
    figures
}

/// Returns the shape of a phase: its elements, with positions relative to the first element in the same buffer. Phases
/// that look alike have equal shapes.
fn shape(phase: &Phase<'_>) -> Vec<(usize, Vec<(u64, Loaded)>)> {
    let of_buffer = |(buffer, elements): (&usize, &Vec<&Loaded>)| {
        let first = elements.first().map_or(0, |element| element.at);
        let relative = |element: &&Loaded| (element.at - first, Loaded { at: 0, phase: 0, ..(*element).clone() });
        (*buffer, elements.iter().map(relative).collect())
    };
    phase.iter().map(of_buffer).collect()
}

/// Returns the runs of consecutive elements, split into rows.
fn runs<'a, 'b>(elements: &'b [&'a Loaded]) -> impl Iterator<Item = &'b [&'a Loaded]> {
    let follow = |a: &&Loaded, b: &&Loaded| b.at == a.at + u64::from(a.bytes);
    elements.chunk_by(follow).flat_map(|run| run.chunks(COLUMNS))
}

/// Returns a grid with a cell for each element.
fn grid(caption: String, elements: &[&Loaded], cell: impl Fn(&Loaded) -> Cell) -> Grid {
    let rows: Vec<&[&Loaded]> = runs(elements).collect();
    let wide = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let omission = match rows.len().checked_sub(ROWS).filter(|left_out| *left_out > 0) {
        Some(left_out) => format!("; {left_out} more rows are left out"),
        None => String::new(),
    };
    let row = |row: &&[&Loaded]| {
        let first = row.first().map_or(String::new(), |element| format!("buffer {} + {}", element.buffer, element.at));
        let mut cells: Vec<Cell> = row.iter().map(|element| cell(element)).collect();
        cells.resize(wide, Cell::default());
        FigureRow { label: first, cells }
    };
    Grid {
        caption: caption + &omission,
        columns: (0..wide).map(|column| column.to_string()).collect(),
        together: 8,
        rows: rows.iter().take(ROWS).map(row).collect(),
        arrows: Vec::new(),
    }
}

fn figure(recording: &Recording, group: &[(u32, Phase<'_>)]) -> Figure {
    let (number, phase) = &group[0];
    let (mut grids, mut notes) = (Vec::new(), Vec::new());
    for (buffer, elements) in phase {
        let loads = |element: &Loaded| {
            let several = if element.warps.count_ones() > 1 { "+" } else { "" };
            let warp = element.warps.trailing_zeros();
            let shade = if warp.is_multiple_of(2) { Shade::Used } else { Shade::Turn(3) };
            Cell::new(format!("{warp}{several}"), shade)
        };
        let bytes = elements.first().map_or(0, |element| element.bytes);
        let rows = "consecutive elements (rows)";
        grids.push(grid(
            format!("{bytes}-byte elements of buffer {buffer}, {rows}: the warp that loads each"),
            elements,
            loads,
        ));
        let numbers: [Number; 3] = [
            ("is loaded by", "threads", |element| element.loads),
            ("is read from shared memory by", "threads", |element| element.shared_reads),
            ("is an operand of", "operations", |element| element.uses),
        ];
        let mut words = Vec::new();
        for (does, what, number) in numbers {
            let first = elements.first().map_or(0, |element| number(element));
            if elements.iter().all(|element| number(element) == first) {
                if first > 0 {
                    let what = if first == 1 { what.trim_end_matches('s') } else { what };
                    words.push(format!("{does} {first} {what}"));
                }
                continue;
            }
            let cell = |element: &Loaded| match number(element) {
                0 => Cell::new("·", Shade::Idle),
                count => Cell::new(count, Shade::Used),
            };
            grids.push(grid(format!("how many {what} each element of buffer {buffer} {does}"), elements, cell));
        }
        if !words.is_empty() {
            notes.push(format!("each element of buffer {buffer} {}", words.join(", ")));
        }
    }
    if group.len() > 1 {
        let numbers: Vec<String> = group.iter().take(8).map(|(number, _)| number.to_string()).collect();
        let more = if group.len() > numbers.len() { ", …" } else { "" };
        notes.push(format!(
            "{} phases look alike but use other parts of the buffers: after {}{more} barriers",
            group.len(),
            numbers.join(", ")
        ));
    }
    if !recording.lost.is_empty() {
        notes.push(format!("values are not tracked {}", recording.lost.join(" and ")));
    }
    let all = || phase.values().flatten();
    let sum = |number: fn(&Loaded) -> u32| all().map(|element| u64::from(number(element))).sum();
    Figure {
        what: TILES.name,
        title: match number {
            0 => format!("what block {} loads before its first barrier", recording.watch.block),
            1 => format!("what block {} loads after its first barrier", recording.watch.block),
            number => format!("what block {} loads after {number} barriers", recording.watch.block),
        },
        grids,
        counts: vec![
            ("elements", all().count() as u64),
            ("loads by threads", sum(|element| element.loads)),
            ("reads from shared memory", sum(|element| element.shared_reads)),
            ("uses as operands", sum(|element| element.uses)),
        ],
        notes,
        ..Figure::default()
    }
}
