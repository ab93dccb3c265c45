//! The activity of a block's warps over modeled cycles, and the blocks on a multiprocessor.

use simt_timing::{Activity, Span};

use super::figure::{Cell, Drawing, Figure, FigureRow, Grid, Shade};
use super::record::{Recording, Residence};

pub(super) const TIMELINE: Drawing = Drawing {
    name: "timeline",
    about: "the warps of a block over modeled cycles: active, diverged or waiting; and occupancy",
    draw,
};

/// The maximum number of columns.
const COLUMNS: u64 = 64;
/// The maximum number of drawn waves.
const WAVES: u64 = 8;

/// The drawn activity of a warp.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WarpActivity {
    Works,
    Splits,
    Memory,
    Shared,
    Special,
    Products,
    Result,
    Barrier,
    Mbarrier,
}

impl WarpActivity {
    /// All activities, each with its letter, its meaning, its name in the counts, and its shade.
    const ALL: [(Self, &'static str, &'static str, &'static str, Shade); 9] = [
        (Self::Works, "w", "w works", "of work", Shade::Used),
        (Self::Splits, "s", "s works while lanes are idle", "of split work", Shade::Turn(1)),
        (Self::Memory, "m", "m waits for memory", "for memory", Shade::Turn(3)),
        (Self::Shared, "h", "h waits for shared memory", "for shared memory", Shade::Turn(2)),
        (Self::Special, "x", "x computes special functions", "for special functions", Shade::Turn(1)),
        (Self::Products, "T", "T waits for tensor cores", "for tensor cores", Shade::Turn(3)),
        (Self::Result, ".", ". waits for a result", "for results", Shade::Idle),
        (Self::Barrier, "b", "b waits at a barrier", "at barriers", Shade::Turn(4)),
        (Self::Mbarrier, "c", "c waits at an mbarrier", "at mbarriers", Shade::Turn(2)),
    ];

    fn of(span: &Span) -> Self {
        match span.activity {
            Activity::Issues if span.lanes != span.alive => Self::Splits,
            Activity::Issues => Self::Works,
            Activity::WaitsForMemory => Self::Memory,
            Activity::WaitsForShared => Self::Shared,
            Activity::WaitsForSpecial => Self::Special,
            Activity::WaitsForProducts => Self::Products,
            Activity::WaitsForResult => Self::Result,
            Activity::WaitsAtBarrier => Self::Barrier,
            Activity::WaitsAtMbarrier => Self::Mbarrier,
        }
    }
}

fn draw(recording: &Recording) -> Vec<Figure> {
    let spans = &recording.spans;
    let Some(end) = spans.iter().map(|span| span.to).max() else { return Vec::new() };
    let cycles_per_column = end.div_ceil(COLUMNS).max(1);
    let columns = end.div_ceil(cycles_per_column);
    // The cycles of each activity, for each warp and column.
    let mut times = vec![vec![[0; WarpActivity::ALL.len()]; columns as usize]; recording.residence.warps as usize];
    for span in spans {
        let Some(activity_times) = times.get_mut(span.warp as usize) else { continue };
        for column in span.from / cycles_per_column..span.to.div_ceil(cycles_per_column) {
            let part = column * cycles_per_column..(column + 1) * cycles_per_column;
            activity_times[column as usize][WarpActivity::of(span) as usize] +=
                span.to.min(part.end) - span.from.max(part.start);
        }
    }
    let row = |(warp, cells): (usize, &Vec<[u64; WarpActivity::ALL.len()]>)| {
        let cell = |times: &[u64; WarpActivity::ALL.len()]| {
            let mut times = *times;
            // Arithmetic surrounds each special function. If special functions take at least an eighth of the time,
            // this arithmetic counts as special functions.
            let arithmetic = [WarpActivity::Works, WarpActivity::Result].map(|doing| doing as usize);
            let special = WarpActivity::Special as usize;
            let arithmetic_and_special = times[special] + arithmetic.map(|doing| times[doing]).iter().sum::<u64>();
            if times[special] * 8 >= arithmetic_and_special {
                arithmetic.into_iter().for_each(|doing| times[doing] = 0);
                times[special] = arithmetic_and_special;
            }
            let longest =
                times.iter().zip(WarpActivity::ALL).max_by_key(|(time, _)| **time).filter(|(time, _)| **time > 0);
            longest.map_or_else(Cell::default, |(_, (_, letter, _, _, shade))| Cell::new(letter, shade))
        };
        FigureRow { label: format!("warp {warp}"), cells: cells.iter().map(cell).collect() }
    };
    let residence = &recording.residence;
    let cycles = |doing: WarpActivity| -> u64 {
        spans.iter().filter(|span| WarpActivity::of(span) == doing).map(|span| span.to - span.from).sum()
    };
    // Activities that do not occur are left out.
    let occurring = WarpActivity::ALL.map(|(doing, _, what, name, _)| (what, name, cycles(doing)));
    let occurring: Vec<_> = occurring.into_iter().filter(|(.., cycles)| *cycles > 0).collect();
    let legend: Vec<_> = occurring.iter().map(|(what, ..)| *what).collect();
    let time = Grid {
        caption: format!("warps (rows) over {end} cycles, {cycles_per_column} per column: {}", legend.join(", ")),
        columns: vec![String::new(); columns as usize],
        together: 8,
        rows: times.iter().enumerate().map(row).collect(),
        arrows: Vec::new(),
    };
    let mut counts = vec![("cycles", end)];
    counts.extend(occurring.iter().map(|(_, name, cycles)| (*name, *cycles)));
    let Residence { resident, warps, most_warps, blocks, multiprocessors, .. } = *residence;
    let at_once = u64::from(resident) * u64::from(multiprocessors);
    counts.extend([
        ("blocks that a multiprocessor holds", resident.into()),
        ("% of its warp slots", u64::from(resident * warps) * 100 / u64::from(most_warps.max(1))),
        ("waves", blocks.div_ceil(at_once.max(1))),
    ]);
    let mut notes = vec![
        format!(
            "a model of {} for this block alone, in which loads that miss the L1 come from memory; the cycles of all warps are \
             added up",
            residence.device
        ),
        format!("blocks: {blocks}, warps per block: {warps}, multiprocessors: {multiprocessors}"),
    ];
    if !residence.has_registers {
        notes.push("without ptxas, registers are assumed not to limit the number of blocks".to_owned());
    }
    let mut grids = vec![time];
    grids.extend(occupancy(residence));
    vec![Figure {
        what: TIMELINE.name,
        title: format!("block {} on {}", recording.watch.block, residence.device),
        grids,
        counts,
        notes,
        ..Figure::default()
    }]
}

/// Draws the warps of the first multiprocessor, wave by wave. Blocks are distributed round-robin over the
/// multiprocessors.
fn occupancy(residence: &Residence) -> Option<Grid> {
    let Residence { resident, warps, most_warps, blocks, multiprocessors, .. } = *residence;
    let (resident, all) = (u64::from(resident), u64::from(multiprocessors));
    let waves = blocks.div_ceil((resident * all).max(1));
    let row = |wave: u64| {
        let cell = |slot: u32| {
            let number = u64::from(slot / warps.max(1));
            let block = (wave * resident + number) * all;
            match number < resident && block < blocks {
                false => Cell::new("·", Shade::Idle),
                true => Cell::new(number % 10, if number.is_multiple_of(2) { Shade::Used } else { Shade::Turn(3) }),
            }
        };
        FigureRow { label: format!("wave {}", wave + 1), cells: (0..most_warps).map(cell).collect() }
    };
    let more = if waves > WAVES { format!(" (the first {WAVES} of {waves})") } else { String::new() };
    (resident > 0).then(|| Grid {
        caption: format!(
            "the {most_warps} warp slots of a multiprocessor, by wave{more}: the number of the block in each slot; · is \
             free"
        ),
        columns: vec![String::new(); most_warps as usize],
        together: 8,
        rows: (0..waves.min(WAVES)).map(row).collect(),
        arrows: Vec::new(),
    })
}
