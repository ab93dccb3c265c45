//! Compares the figures of all rungs with the simulator's counters. The output of `ladder why --figures` is in
//! cli/figures.txt.

use std::collections::BTreeSet;

use analysis::dram_trace::trace;
use analysis::explain::{fit, record};
use analysis::predict::Description;
use host::device::Sim;
use host::problem::Verdict;
use host::run::Plan;
use host::selection::select;
use host::{CATALOG, DeviceProperties, KERNELS, Session};
use profile::Watch;
use profile::dram::Dram;
use profile::figures::{DRAWINGS, Figure, FigureRow, Recording, Round, Shade, Tree, tree};

/// Returns the number of sectors, of eight words each, that have a drawn cell in the figure's only grid.
fn sectors(figure: &Figure) -> u64 {
    let rows = figure.grids[0].rows.iter();
    let drawn =
        rows.flat_map(|row| row.cells.chunks(8)).filter(|sector| sector.iter().any(|cell| cell.shade != Shade::Empty));
    drawn.count() as u64
}

fn words(figure: &Figure, grid: usize) -> usize {
    let cells = figure.grids[grid].rows.iter().flat_map(|row| &row.cells);
    cells.filter(|cell| cell.shade != Shade::Empty).count()
}

/// Checks that the columns of the source figure add up to the counters of the launch.
fn source(recording: &Recording, figure: &Figure) {
    let listing = figure.listing.as_ref().unwrap();
    let all = recording.counters.all();
    let get = |name: &str| all.get(name).unwrap().number().unwrap() as u64;
    let sum = |part: &str| -> u64 {
        let metrics = all.metrics();
        let names =
            metrics.iter().map(|metric| metric.name).filter(|name| name.contains(part) && name.ends_with(".sum"));
        names.map(get).sum()
    };
    let totals = [
        get("ptx_inst_executed.sum"),
        sum("l1tex_t_sectors_") + sum("l1tex__t_sectors_"),
        sum("l1tex__data_pipe_lsu_wavefronts_mem_shared"),
        get("smsp__sass_branch_targets_threads_divergent.sum"),
    ];
    for (column, total) in totals.into_iter().enumerate() {
        let lines: u64 = listing.lines.iter().map(|line| line.counts[column]).sum();
        let ptx: u64 = listing.lines.iter().flat_map(|line| &line.ptx).map(|line| line.counts[column]).sum();
        assert_eq!((lines, ptx), (total, total), "{}", listing.columns[column]);
    }
}

/// Checks that the spans of each warp follow each other without gaps, and that the counts add up to all spans.
fn timeline(recording: &Recording, figure: &Figure) {
    let counts = &figure.counts;
    let end = counts[0].1;
    assert_eq!(recording.spans.iter().map(|span| span.to).max(), Some(end));
    let mut sum = 0;
    for warp in 0..recording.residence.warps {
        let mut at = 0;
        for span in recording.spans.iter().filter(|span| span.warp == warp) {
            assert!(span.from == at && span.to > at && span.lanes & !span.alive == 0, "{span:?} after {at}");
            at = span.to;
        }
        sum += at;
    }
    assert_eq!(counts[1..counts.len() - 3].iter().map(|(_, cycles)| cycles).sum::<u64>(), sum);
}

/// Checks that a block reads a word only after another block has written it, unless the figure marks the word as
/// unwritten.
fn exchange(figure: &Figure, place: &str) {
    let rows = &figure.grids[0].rows;
    let mut written = BTreeSet::new();
    for step in 0..figure.grids[0].columns.len() {
        let cells = rows.iter().map(|row| &row.cells[step]).filter(|cell| !cell.text.contains('-'));
        for cell in cells.filter(|cell| cell.shade != Shade::Empty) {
            let word = cell.text.split(['\'', ':']).next().unwrap();
            match cell.shade {
                Shade::Used => drop(written.insert(word.to_owned())),
                Shade::Turn(3) => assert!(written.contains(word), "{place}: step {step}, word {word}"),
                _ => assert!(!written.contains(word), "{place}: step {step}, word {word}"),
            }
        }
    }
    assert!(!written.is_empty(), "{place}");
}

/// Records a warp of the first block of a plan's launch.
fn recorded(sim: &mut Sim, plan: &Plan, place: usize, warp: u64) -> (Recording, Verdict) {
    let (rung, launch) = &plan.launches()[place];
    let watch = Watch { warp, ..Watch::new(Description::open("h100").unwrap()) };
    let (profile, verdict) = record(sim, plan.problem(), rung, launch, watch, None).unwrap();
    (profile.recording, verdict)
}

/// Compares the tracked values that threads load from buffers with the bytes that the threads request.
fn loads(recording: &Recording, name: &str) {
    if recording.left_out().is_some() {
        return;
    }
    let followed: u64 = recording.flow.loaded.iter().map(|value| u64::from(value.loads) * u64::from(value.bytes)).sum();
    let is_load = |title: &str| title.contains("loads") || title.contains("copies");
    let bursts = DRAWINGS.iter().find(|drawing| drawing.name == "bursts").unwrap();
    let requested: u64 = (bursts.draw)(recording)
        .iter()
        .filter(|figure| is_load(&figure.title))
        .flat_map(|figure| &figure.counts)
        .filter(|(what, _)| *what == "bytes requested by threads")
        .map(|(_, count)| count)
        .sum();
    // The requests include loads of words that the block has written. If there are many phases, not all are drawn.
    let some_left_out =
        (bursts.draw)(recording).iter().any(|figure| figure.notes.iter().any(|note| note.contains("left out")));
    let written = recording.flow.results.len();
    if !some_left_out {
        assert!(followed <= requested && (written > 0 || followed == requested), "{name}: {followed}, {requested}");
    }
}

/// Checks a warp's figures and returns the number of figures of each kind.
fn check(recording: &Recording, name: &str) -> Vec<usize> {
    let drawings = DRAWINGS.iter().map(|drawing| {
        let figures = (drawing.draw)(recording);
        for figure in &figures {
            let count = |what: &str| figure.counts.iter().find(|(name, _)| *name == what).map(|(_, count)| *count);
            let is_atomic = figure.title.starts_with("atomics");
            let place = format!("{name}, {}, PTX line {}", figure.title, figure.ptx_line);
            match figure.what {
                "access" => {
                    // An atomic may access a sector several times.
                    let (drawn, counted) = (sectors(figure), count("sectors counted").unwrap());
                    assert!(if is_atomic { drawn <= counted } else { drawn == counted }, "{place}: {drawn}, {counted}");
                }
                "banks" => {
                    let drawn = if figure.grids.len() == 2 { figure.grids[1].rows.len() as u64 } else { 1 };
                    let counted = count("wavefronts counted");
                    assert!(figure.title.starts_with("asynchronous") || counted.is_some(), "{place}");
                    assert_eq!(drawn, counted.unwrap_or(drawn), "{place}");
                    if figure.grids.len() == 2 && !is_atomic {
                        assert!(words(figure, 0) <= words(figure, 1), "{place}");
                    }
                }
                "shuffle" => {
                    let grid = &figure.grids[0];
                    for arrow in &grid.arrows {
                        let (from, to) = (&grid.rows[0].cells[arrow.from], &grid.rows[1].cells[arrow.to]);
                        assert!(from.shade == Shade::Idle || from.text == to.text, "{place}");
                    }
                }
                "tree" => {
                    for arrow in &figure.grids[0].arrows {
                        let rows = &figure.grids[0].rows[arrow.row..arrow.row + 2];
                        let ends = [&rows[0].cells[arrow.from], &rows[1].cells[arrow.to]];
                        assert!(ends.iter().all(|cell| cell.shade != Shade::Empty), "{place}");
                    }
                }
                "scan" => {
                    // A sum ends before the sum to which it is added.
                    let grid = &figure.grids[0];
                    assert!(
                        !grid.arrows.is_empty() && grid.arrows.iter().all(|arrow| arrow.from <= arrow.to),
                        "{place}"
                    );
                    let is_done = grid.rows.last().unwrap().cells.iter().all(|cell| cell.text == "0");
                    assert!(is_done, "{place}");
                }
                "exchange" => exchange(figure, &place),
                "loop" => {
                    let grid = &figure.grids[0];
                    let steps = count("steps").unwrap();
                    assert!(steps >= 3 && grid.columns.len() as u64 == steps.min(16), "{place}");
                    assert!(grid.rows.iter().all(|row| row.cells.len() == grid.columns.len()), "{place}");
                    // The next step reads a register only where its value may change.
                    let is_kept = |row: &FigureRow| row.cells[0].shade == Shade::Turn(3);
                    let is_plain = |row: &FigureRow| row.cells.iter().all(|cell| cell.shade == Shade::Idle);
                    assert!(grid.rows.iter().all(|row| is_kept(row) || is_plain(row)), "{place}");
                }
                "fragments" => {
                    let occupied = figure.grids[0].rows.iter().flat_map(|row| &row.cells);
                    let occupied = occupied.filter(|cell| cell.shade != Shade::Empty).count();
                    // 16 × 16 elements of a, and 16 × 8 each of b and c, in 4, 2 and 4 registers of 32 lanes.
                    assert_eq!(occupied, 16 * 16 + 2 * 16 * 8, "{place}");
                }
                "tiles" => {}
                "bursts" => assert!(count("bursts") <= count("bursts of all requests"), "{place}"),
                "timeline" => timeline(recording, figure),
                "source" => source(recording, figure),
                other => panic!("{other} is not checked"),
            }
        }
        figures.len()
    });
    drawings.collect()
}

#[test]
fn the_figures_agree_with_the_counters() {
    let ptx = KERNELS.newest_for(None).unwrap().unwrap();
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    for ladder in CATALOG.ladders {
        let mut selection = select(&CATALOG, &[ladder.name.to_owned()]).unwrap().remove(0);
        fit(&mut selection, 4 << 10).unwrap();
        let plan = selection.plan(None, None, DeviceProperties::default()).unwrap();
        assert!(plan.left_out().is_empty(), "{:?}", plan.left_out());
        for (place, (rung, launch)) in plan.launches().iter().enumerate() {
            let warps = launch.block.iter().map(|side| u64::from(*side)).product::<u64>().div_ceil(32);
            // Of every fourth launch, the last warp is checked too, if it differs from the first.
            let last = (warps > 1 && place % 4 == 0).then_some(warps - 1);
            for warp in [Some(0), last].into_iter().flatten() {
                let (recording, verdict) = recorded(&mut sim, &plan, place, warp);
                assert!(verdict.is_right(), "{}: {verdict:?}", rung.name);
                let figures = check(&recording, rung.name);
                // Threads do not request the bytes of a bulk copy.
                let copies_in_bulk = ptx.part(&launch.entry).contains("cp.async.bulk");
                if !copies_in_bulk {
                    loads(&recording, rung.name);
                }
                // A kernel that polls counts its polls, and their number depends on timing.
                if warp == 0 && rung.name == ladder.rungs[0].name && !rung.blocks_wait {
                    let mut session = Session::new(&mut sim, plan.problem(), false).unwrap();
                    let counters = session.observe(rung, launch, None, simt::Counters::new).unwrap();
                    assert_eq!(recording.counters.all().metrics(), counters.metrics(), "{}", rung.name);
                }
                // The last warp of a reduction may be idle.
                assert!(warp > 0 || copies_in_bulk || figures[0] > 0, "{}: {figures:?}", rung.name);
            }
        }
    }
}

/// Returns the tree of a block of `threads` threads in a reduction, with the most elements that the block can sum.
fn reduction(name: &str, threads: u32) -> Tree {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let mut selection = select(&CATALOG, &[name.to_owned()]).unwrap().remove(0);
    let elements = threads * 8;
    selection.given.push(("n", elements.to_string()));
    let plan = selection.plan(Some([threads, 1, 1]), None, DeviceProperties::default()).unwrap();
    let (recording, verdict) = recorded(&mut sim, &plan, 0, 0);
    assert!(verdict.is_right(), "{name}");
    tree(&recording).unwrap()
}

/// Returns the pairs of a round, each operand identified by its first element.
fn pairs(tree: &Tree, round: &Round) -> BTreeSet<(u64, u64)> {
    let head = |(_, index): (usize, u64)| index - tree.begins.values().next().unwrap();
    let pair = |terms: &[profile::figures::Term]| match terms {
        [a, b] => (head(a.head), head(b.head)),
        other => panic!("{other:?}"),
    };
    round.additions.iter().map(|addition| pair(&addition.terms)).collect()
}

/// The figures of the source texts for neighbored and interleaved pairs: which threads add which partial sums.
#[test]
fn the_pairs_are_those_of_the_source_texts() {
    // 0+1, 2+3 …; then 0+2, 4+6 …; by the threads whose number is a multiple of 2, 4, …
    for (name, threads_apart) in [("reduce_neighbored", true), ("reduce_neighbored_less", false)] {
        let tree = reduction(name, 64);
        assert_eq!((tree.elements, tree.rounds.len()), (64, 6), "{name}");
        for (number, round) in tree.rounds.iter().enumerate() {
            let stride = 1 << number;
            let expected = (0..64).step_by(2 * stride).map(|first| (first as u64, (first + stride) as u64));
            assert_eq!(pairs(&tree, round), expected.collect(), "{name}, round {number}");
            let threads = round.additions.iter().map(|addition| addition.thread as usize).collect::<Vec<_>>();
            let distance = if threads_apart { 2 * stride } else { 1 };
            assert!(threads.iter().enumerate().all(|(at, thread)| *thread == at * distance), "{name}: {threads:?}");
            // Either every warp works until the end, or only the first warps do.
            let first_lanes = round.lanes[0].count_ones() as usize;
            assert_eq!(first_lanes, if threads_apart { 16 >> number } else { (32 >> number).min(32) }.max(1), "{name}");
        }
    }
    // i + n/2, then i + n/4 …
    let halves = |tree: &Tree, rounds: &[Round], from: u64| {
        for (number, round) in rounds.iter().enumerate() {
            let stride = from >> number;
            assert_eq!(pairs(tree, round), (0..stride).map(|i| (i, i + stride)).collect(), "round {number}");
        }
    };
    let tree = reduction("reduce_interleaved", 64);
    assert_eq!((tree.elements, tree.rounds.len()), (64, 6));
    halves(&tree, &tree.rounds, 32);
    assert!(
        tree.rounds.iter().all(|round| round
            .additions
            .iter()
            .enumerate()
            .all(|(at, addition)| addition.thread == at as u32))
    );
    // Unrolled: each thread first adds elements that are a block apart; then the rounds are as before.
    for (name, blocks) in [
        ("reduce_unrolling2", 2),
        ("reduce_unrolling4", 4),
        ("reduce_unrolling8", 8),
        ("reduce_unroll_warps8", 8),
        ("reduce_complete_unroll_warps8", 8),
        ("reduce_complete_unroll", 8),
        ("reduce_gmem", 1),
        ("reduce_gmem_unroll4", 4),
        ("reduce_smem", 1),
        ("reduce_smem_dyn", 1),
        ("reduce_smem_unroll4", 4),
        ("reduce_smem_unroll4_dyn", 4),
    ] {
        let tree = reduction(name, 128);
        assert_eq!(tree.elements, 128 * blocks, "{name}");
        let serial_rounds = tree.rounds.len() - 7;
        for round in &tree.rounds[..serial_rounds] {
            let is_thread_local = |addition: &profile::figures::Addition| {
                addition.terms.iter().all(|term| term.head.1 % 128 == addition.terms[0].head.1 % 128)
            };
            assert!(round.additions.iter().all(is_thread_local), "{name}");
        }
        assert_eq!(serial_rounds > 0, blocks > 1, "{name}");
        halves(&tree, &tree.rounds[serial_rounds..], 64);
    }
    // Shuffles: in each warp, i is added to i xor 16, 8, 4, 2, 1; then the warps' sums are added in the same way.
    let tree = reduction("reduce_shfl", 128);
    assert_eq!((tree.elements, tree.rounds.len()), (128, 7));
    for (number, round) in tree.rounds[..5].iter().enumerate() {
        let mask = 16u32 >> number;
        for addition in &round.additions {
            let lanes: BTreeSet<u32> = addition.terms.iter().map(|term| term.thread).collect();
            assert_eq!(lanes, BTreeSet::from([addition.thread, addition.thread ^ mask]), "round {number}");
        }
        assert_eq!(round.lanes, [u32::MAX; 4]);
    }
    let warps: Vec<_> = tree.rounds[5..].iter().map(|round| pairs(&tree, round)).collect();
    assert_eq!(warps, [BTreeSet::from([(0, 64), (32, 96)]), BTreeSet::from([(0, 32)])]);
}

/// Returns a figure of the first block of a scan's rung.
fn figure_of(name: &str, kind: &str, n: &str, block: [u32; 3]) -> Figure {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let mut selection = select(&CATALOG, &[name.to_owned()]).unwrap().remove(0);
    selection.given.push(("n", n.to_owned()));
    let plan = selection.plan(Some(block), None, DeviceProperties::default()).unwrap();
    let (recording, verdict) = recorded(&mut sim, &plan, 0, 0);
    assert!(verdict.is_right(), "{name}");
    let drawing = DRAWINGS.iter().find(|drawing| drawing.name == kind).unwrap();
    (drawing.draw)(&recording).remove(0)
}

/// The rounds and additions for 16 elements: of Hillis and Steele's scan, and of the two sweeps over a tree.
#[test]
fn scans_have_the_rounds_of_the_source_texts() {
    let n = 16_u64;
    let hillis_steele = (0..4).map(|round| n - (1 << round)).sum();
    // Up: 8 + 4 + 2 + 1. Down: 1 + 3 + 7.
    for (name, rounds, additions) in [
        ("scan_global", 4, hillis_steele),
        ("scan_shared", 4, hillis_steele),
        ("scan_work_efficient", 7, 26),
        ("scan_padded", 7, 26),
        ("scan_shuffle", 4, hillis_steele),
    ] {
        let figure = figure_of(name, "scan", "16", [64, 1, 1]);
        assert_eq!(figure.counts, [("elements", n), ("rounds", rounds), ("additions", additions)], "{name}");
        for arrow in &figure.grids[0].arrows {
            // Round r of Hillis and Steele's scan adds the element that is 2^r places before.
            let stride = arrow.to - arrow.from;
            assert!(stride == 0 || rounds == 7 || stride == 1 << arrow.row, "{name}: {arrow:?}");
        }
    }
}

/// In a chain, a block publishes once, after the preceding block. With look-back, it publishes its sum first.
#[test]
fn blocks_publish_before_they_look_back() {
    let steps = |name: &str| {
        let figure = figure_of(name, "exchange", "65536", [512, 1, 1]);
        for (block, row) in figure.grids[0].rows.iter().enumerate() {
            let writes: Vec<&str> =
                row.cells.iter().filter(|cell| cell.shade == Shade::Used).map(|cell| &*cell.text).collect();
            let (sum, prefix) = (block.to_string(), format!("{block}'"));
            match (name, block) {
                // No block reads the last word.
                (_, 7) => assert!(writes.is_empty(), "{name}: {writes:?}"),
                ("scan_chained", _) | (_, 0) => assert_eq!(writes, [sum], "{name}"),
                _ => assert_eq!(writes, [sum, prefix], "{name}"),
            }
        }
        figure.counts.iter().find(|(what, _)| *what == "steps").unwrap().1
    };
    let [chained, look_back, warp] = ["scan_chained", "scan_look_back", "scan_look_back_warp"].map(steps);
    assert!(chained > look_back && look_back > warp, "{chained}, {look_back}, {warp}");
}

/// If a launch has one block, the block's bursts equal the bursts in the trace.
#[test]
fn bursts_are_those_of_the_trace() {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    for (name, size, block) in
        [("reduce_interleaved", ("n", "64"), Some([64, 1, 1])), ("transpose_naive", ("rows", "16"), None)]
    {
        let mut selection = select(&CATALOG, &[name.to_owned()]).unwrap().remove(0);
        selection.given.push((size.0, size.1.to_owned()));
        if size.0 == "rows" {
            selection.given.push(("cols", "32".to_owned()));
        }
        let ladder = selection.ladder;
        let plan = selection.plan(block, None, DeviceProperties::default()).unwrap();
        let (rung, launch) = &plan.launches()[0];
        assert_eq!(launch.blocks(), 1);
        let (recording, _) = recorded(&mut sim, &plan, 0, 0);
        let traced = trace(&mut sim, ladder, rung, plan.problem(), launch, Dram::FIGURE, 1).unwrap();
        let bursts = DRAWINGS.iter().find(|drawing| drawing.name == "bursts").unwrap();
        let figures = (bursts.draw)(&recording);
        assert!(figures.len() < 16, "all are drawn");
        let sum = |what: &str| -> u64 {
            let counts = figures.iter().flat_map(|figure| &figure.counts);
            counts.filter(|(name, _)| *name == what).map(|(_, count)| count).sum()
        };
        assert_eq!(
            sum("bursts of all requests"),
            traced.accesses.iter().map(|access| access.bursts).sum::<u64>(),
            "{name}"
        );
        assert_eq!(sum("requests"), traced.accesses.iter().map(|access| access.requests).sum::<u64>(), "{name}");
    }
}
