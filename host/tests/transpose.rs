//! The transpose ladder on the SIMT machine: any shape is right, and the counters tell the ladder's story.

#![allow(clippy::unwrap_used)]

use host::device::Sim;
use host::problem::Verdict;
use host::run::{Climb, Outcome, climb};
use host::{Ladder, Options, Session, ladder};
use proptest::prelude::*;

fn transpose() -> &'static Ladder {
    ladder("transpose").unwrap()
}

fn shape(rows: u32, cols: u32) -> Options {
    Options::default().with("rows", rows).with("cols", cols)
}

/// Checks every rung with a block.
fn check(rows: u32, cols: u32, block: [u32; 3]) {
    let problem = transpose().problem(&shape(rows, cols)).unwrap();
    let mut sim = Sim::open(1).unwrap();
    let mut session = Session::new(&mut sim, &*problem, false).unwrap();
    for rung in transpose().rungs {
        let launch = transpose().launch(rung, &*problem, Some(block)).unwrap();
        let verdict = session.check(rung, &launch).unwrap();
        assert_eq!(verdict, Verdict::Right, "{launch} of {rows} × {cols}");
    }
}

#[test]
fn of_several_wrong_elements_the_first_by_the_inputs_rows_and_squares_is_named() {
    let (rows, cols) = (200usize, 150usize);
    let problem = transpose().problem(&shape(200, 150)).unwrap();
    let rung = transpose()
        .rungs
        .iter()
        .find(|rung| !rung.is_bound)
        .unwrap();
    let launch = transpose().launch(rung, &*problem, None).unwrap();
    let input = problem.input(0);
    let mut output = vec![host::problem::POISON; problem.buffers()[1].bytes as usize];
    for at in 0..rows * cols {
        let to = at % cols * rows + at / cols;
        output[to * 4..][..4].copy_from_slice(&input[at * 4..][..4]);
    }
    // Rows and columns of the input, from the last found to the first.
    for (row, column) in [
        (199, 149),
        (130, 3),
        (63, 140),
        (10, 140),
        (10, 138),
        (50, 2),
    ] {
        output[(column * rows + row) * 4] ^= 1;
        let Verdict::Wrong(why) = problem.check(rung, &launch, &[output.clone()]) else {
            panic!("row {row}, column {column} is not found");
        };
        let place = format!("row {column}, column {row} of the output is ");
        assert!(why.starts_with(&place), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_shape_is_right(
        (rows, cols) in prop_oneof![
            (1u32..200, 1u32..200),
            (1u32..4, 1u32..5000),
            (1u32..5000, 1u32..4),
        ],
        block in prop::sample::select(transpose().blocks),
    ) {
        check(rows, cols, block);
    }
}

#[test]
fn more_rows_of_tiles_than_a_grid_has_in_y() {
    let rows = 65_535 * 16 + 1;
    let problem = transpose().problem(&shape(rows, 1)).unwrap();
    let rung = transpose().rung("transpose_smem_pad").unwrap();
    let launch = transpose().launch(rung, &*problem, None).unwrap();
    assert_eq!(launch.grid, [1, 32_768, 2]);
    let mut sim = Sim::open(0).unwrap();
    let mut session = Session::new(&mut sim, &*problem, false).unwrap();
    assert_eq!(session.check(rung, &launch).unwrap(), Verdict::Right);
}

fn counted(block: [u32; 3]) -> Vec<Outcome> {
    let climb_of = Climb {
        ladder: transpose(),
        rungs: &[],
        options: &shape(256, 256),
        block: Some(block),
        runs: Some(1),
    };
    let mut sim = Sim::open(0).unwrap();
    let report = climb(&mut sim, &climb_of.plan().unwrap(), |_| {}).unwrap();
    assert!(report.all_right());
    report.outcomes
}

/// Wavefronts of shared memory that a warp's access takes, on average.
fn wavefronts(outcome: &Outcome, op: &str) -> f64 {
    let of = |what: &str| {
        let name = format!("l1tex__data_{what}_mem_shared_op_{op}.sum");
        outcome.counter(&name).unwrap()
    };
    let all = of("pipe_lsu_wavefronts");
    all / (all - of("bank_conflicts_pipe_lsu"))
}

#[test]
fn padding_frees_the_tile_of_conflicts() {
    for (block, conflicting, writes) in [
        ([32, 16, 1], 16.0, 1.0),
        ([32, 32, 1], 32.0, 1.0),
        // Two rows of 16 overlap in two banks: what `padding` says of this shape.
        ([16, 16, 1], 8.0, 2.0),
    ] {
        for outcome in &counted(block) {
            let name = outcome.rung.name;
            let (read, write) = (wavefronts(outcome, "ld"), wavefronts(outcome, "st"));
            if outcome.rung.shared.bytes(block) == 0 {
                assert!(read.is_nan() && write.is_nan(), "{name}");
            } else if name == "transpose_smem" {
                assert_eq!((read, write), (conflicting, 1.0), "{name} {block:?}");
            } else {
                assert_eq!((read, write), (1.0, writes), "{name} {block:?}");
            }
        }
    }
}

#[test]
fn a_tile_coalesces_both_ways() {
    let sectors = |outcome: &Outcome| {
        ["ld", "st"].map(|op| {
            let name =
                format!("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio");
            outcome.counter(&name).unwrap()
        })
    };
    for outcome in &counted([32, 32, 1]) {
        let expected = match outcome.rung.name {
            "transpose_naive" => [4.0, 32.0],
            "transpose_naive_strided_reads" => [32.0, 4.0],
            _ => [4.0, 4.0],
        };
        assert_eq!(sectors(outcome), expected, "{}", outcome.rung.name);
    }
}
