//! The transpose ladder on the simulator: any shape is right, and the counters show the effect of each rung.

use host::KERNELS;
use host::device::Sim;
use host::launch::Launch;
use host::problem::Verdict;
use host::run::{Plan, RungResult};

use crate::common::{self, all_right};
use host::{DeviceProperties, Ladder, Options, Session, ladder};
use proptest::prelude::*;

fn transpose() -> &'static Ladder {
    ladder("transpose").unwrap()
}

fn shape(rows: u32, cols: u32) -> Options {
    Options::default().with("rows", rows).with("cols", cols)
}

/// Checks every rung with this block.
fn check(rows: u32, cols: u32, block: [u32; 3]) {
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let options = shape(rows, cols);
    all_right(&mut sim, transpose(), &options, |_, candidate| candidate == block);
}

#[test]
fn the_first_wrong_element_by_rows_and_squares_of_the_input_is_named() {
    let (rows, cols) = (200usize, 150usize);
    let problem = transpose().problem(&shape(200, 150)).unwrap();
    let mut rungs = transpose().rungs.iter();
    let rung = rungs.find(|rung| !rung.is_bound).unwrap();
    let launch = transpose().launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    let input = problem.input(0);
    let mut output = vec![host::problem::POISON; problem.buffers(DeviceProperties::default())[1].bytes as usize];
    for at in 0..rows * cols {
        let to = at % cols * rows + at / cols;
        output[to * 4..][..4].copy_from_slice(&input[at * 4..][..4]);
    }
    // Rows and columns of the input, in the reverse order of the check.
    let from_last = [199, 130, 63, 10, 10, 50].into_iter().zip([149, 3, 140, 140, 138, 2]);
    for (row, column) in from_last {
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
            // Sides at which rows of the output start at sectors or at wide words.
            (1u32..60, 1u32..60).prop_map(|(rows, cols)| (4 * rows, 4 * cols)),
            (1u32..30, 1u32..200).prop_map(|(rows, cols)| (8 * rows, cols)),
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
    let launch = transpose().launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    assert_eq!(launch.grid, [1, 32_768, 2]);
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let mut session = Session::new(&mut sim, &*problem, false).unwrap();
    assert_eq!(session.check(rung, &launch).unwrap(), Verdict::Right);
}

/// Returns the counts of these rungs, or of all rungs.
fn counted_of(rungs: &[&str], [rows, cols]: [u32; 2], block: Option<[u32; 3]>) -> Vec<RungResult> {
    let rungs: Vec<String> = rungs.iter().map(ToString::to_string).collect();
    let plan = Plan::new(transpose(), &rungs, &shape(rows, cols), block, Some(1), DeviceProperties::default());
    common::counted(plan.unwrap()).outcomes
}

fn counted(block: [u32; 3]) -> Vec<RungResult> {
    counted_of(&[], [256, 256], Some(block))
}

/// Returns the average number of shared-memory wavefronts per warp access.
fn wavefronts(outcome: &RungResult, op: &str) -> f64 {
    let counter = |what: &str| {
        let name = format!("l1tex__data_{what}_mem_shared_op_{op}.sum");
        outcome.counter(&name).unwrap()
    };
    let all = counter("pipe_lsu_wavefronts");
    all / (all - counter("bank_conflicts_pipe_lsu"))
}

#[test]
fn padding_removes_conflicts_from_the_tile() {
    for (block, conflicting, writes) in [
        ([32, 16, 1], 16.0, 1.0),
        ([32, 32, 1], 32.0, 1.0),
        // Two rows of 16 words overlap in two banks, as `transpose_smem_pad` explains.
        ([16, 16, 1], 8.0, 2.0),
    ] {
        for outcome in &counted(block) {
            let name = outcome.rung.name;
            let (read, write) = (wavefronts(outcome, "ld"), wavefronts(outcome, "st"));
            let Launch { entry, shared_bytes, .. } = &outcome.launch;
            if KERNELS.static_shared_bytes(entry) + shared_bytes == 0 {
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
    let sectors = |outcome: &RungResult| {
        ["ld", "st"].map(|op| {
            let name = format!("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio");
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

#[test]
fn windows_reach_the_last_row_wherever_they_start() {
    // Around a tile's 128 rows, a window that starts 7 elements early ends before the last row.
    for rows in (118..=129).chain(249..=257) {
        check(rows, 9, [512, 1, 1]);
    }
}

/// Returns the counts of the two rungs with large tiles.
fn counted_large(rows: u32, cols: u32) -> [RungResult; 2] {
    counted_of(&["transpose_aligned", "transpose_vector"], [rows, cols], None).try_into().unwrap()
}

#[test]
fn a_swizzle_removes_conflicts_from_wide_accesses() {
    let [_, vector] = counted_large(256, 512);
    // A wide access of a warp takes four wavefronts for its 512 bytes.
    let ideal = 4.0;
    assert_eq!((wavefronts(&vector, "ld"), wavefronts(&vector, "st")), (1.0, 1.0));
    let accesses = f64::from(256 * 512 / 128);
    for op in ["ld", "st"] {
        let waves = format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum");
        assert_eq!(vector.counter(&waves), Some(accesses * ideal), "{op}");
        let name = format!("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio");
        assert_eq!(vector.counter(&name), Some(16.0), "{op}");
    }
}

#[test]
fn windows_write_whole_sectors_of_any_shape() {
    let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
    let (rows, cols) = (1003, 257);
    let fewest = f64::from(rows * cols).div_euclid(8.0);
    for outcome in &counted_large(rows, cols) {
        let written = outcome.counter(sectors).unwrap();
        // Sectors at both ends of each row of the output may be written in two halves.
        let most = fewest + f64::from(2 * cols);
        assert!((fewest..most).contains(&written), "{}: {written}", outcome.rung.name);
    }
    let before = counted_of(&["transpose_smem_unroll_pad"], [rows, cols], Some([32, 32, 1]));
    let before = before[0].counter(sectors).unwrap();
    assert!(before > 1.15 * fewest, "{before}");
}
