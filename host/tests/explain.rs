//! The figures of all rungs against the machine's counters. What `ladder explain` shows is in cli/explain.txt.

use analysis::explain::{DRAWINGS, Figure, Recording, Shade, record, small_enough};
use host::device::Sim;
use host::selection::select;
use host::{CATALOG, KERNELS};

/// Sectors of the figure's only grid in which something is drawn: eight words each.
fn sectors(figure: &Figure) -> u64 {
    let rows = figure.grids[0].rows.iter();
    let drawn =
        rows.flat_map(|row| row.cells.chunks(8)).filter(|own| own.iter().any(|cell| cell.shade != Shade::Empty));
    drawn.count() as u64
}

fn words(figure: &Figure, grid: usize) -> usize {
    let cells = figure.grids[grid].rows.iter().flat_map(|row| &row.cells);
    cells.filter(|cell| cell.shade != Shade::Empty).count()
}

/// Checks a warp's figures, and returns how many there are of each kind.
fn check(recording: &Recording, name: &str) -> Vec<usize> {
    let drawings = DRAWINGS.iter().map(|drawing| {
        let figures = (drawing.draw)(recording);
        for figure in &figures {
            let count = |what: &str| figure.counts.iter().find(|(own, _)| *own == what).map(|(_, count)| *count);
            let is_atomic = figure.title.starts_with("atomics");
            let place = format!("{name}, {}, PTX line {}", figure.title, figure.ptx_line);
            match figure.what {
                "access" => {
                    // An atomic goes through a sector several times.
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
                _ => {
                    let grid = &figure.grids[0];
                    for arrow in &grid.arrows {
                        let (from, to) = (&grid.rows[0].cells[arrow.from], &grid.rows[1].cells[arrow.to]);
                        assert!(from.shade == Shade::Idle || from.text == to.text, "{place}");
                    }
                }
            }
        }
        figures.len()
    });
    drawings.collect()
}

#[test]
fn what_is_drawn_is_what_the_machine_counts() {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    for ladder in CATALOG.ladders {
        let mut selection = select(&CATALOG, &[ladder.name.to_owned()]).unwrap().remove(0);
        small_enough(&mut selection).unwrap();
        let plan = selection.plan(None, None).unwrap();
        assert!(plan.left_out().is_empty(), "{:?}", plan.left_out());
        for (rung, launch) in plan.launches() {
            let warps = launch.block.iter().map(|side| u64::from(*side)).product::<u64>().div_ceil(32);
            for warp in [0, warps - 1] {
                let (recording, verdict) = record(&mut sim, plan.problem(), rung, launch, (0, warp)).unwrap();
                assert!(verdict.is_right(), "{}: {verdict:?}", rung.name);
                let figures = check(&recording, rung.name);
                // The last warp of a reduction may have nothing to do.
                assert!(warp > 0 || figures[0] > 0, "{}: {figures:?}", rung.name);
            }
        }
    }
}
