#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladder;
use engine::problem::POISON;

fn of(rung: &str, rows: u32, cols: u32) -> (Box<dyn Problem>, &'static Rung, Launch) {
    let ladder = ladder("transpose").unwrap();
    let options = Options::default().with("rows", rows).with("cols", cols);
    let problem = ladder.problem(&options).unwrap();
    let rung = ladder.rung(rung).unwrap();
    let launch = ladder.launch(rung, &*problem, None).unwrap();
    (problem, rung, launch)
}

/// What a right kernel leaves.
fn right(problem: &dyn Problem, rows: usize, cols: usize) -> Vec<u32> {
    let input: &[u32] = bytemuck::cast_slice(problem.input(0));
    (0..rows * cols).map(|at| input[at % rows * cols + at / rows]).collect()
}

fn why(problem: &dyn Problem, rung: &Rung, launch: &Launch, output: &[u32]) -> Option<String> {
    match problem.check(rung, launch, &[bytemuck::cast_slice(output).to_vec()]) {
        Verdict::Right => None,
        Verdict::Wrong(why) => Some(why),
    }
}

#[test]
fn the_check_accepts_what_is_right_and_names_what_is_not() {
    for (rows, cols) in [(1, 1), (1, 100), (100, 1), (65, 130)] {
        let (problem, rung, launch) = of("transpose_smem", rows, cols);
        let mut output = right(&*problem, rows as usize, cols as usize);
        assert_eq!(why(&*problem, rung, &launch, &output), None);
        let last = (rows * cols - 1) as usize;
        output[last] ^= 1;
        let text = why(&*problem, rung, &launch, &output).unwrap();
        let place = format!("row {}, column {} of the output is ", cols - 1, rows - 1);
        assert!(text.starts_with(&place), "{text}");
        assert!(why(&*problem, rung, &launch, &[]).is_some());
    }
    let (problem, rung, launch) = of("transpose_smem", 3, 5);
    let poison = vec![u32::from_ne_bytes([POISON; 4]); 15];
    let text = why(&*problem, rung, &launch, &poison).unwrap();
    assert!(text.contains("what was there before"), "{text}");
}

#[test]
fn a_copy_is_right_for_the_bound_alone() {
    let (problem, copy, launch) = of("copy_gmem", 3, 5);
    let mut output = bytemuck::cast_slice::<u8, u32>(problem.input(0)).to_vec();
    assert_eq!(why(&*problem, copy, &launch, &output), None);
    let (_, naive, launch) = of("transpose_naive", 3, 5);
    let text = why(&*problem, naive, &launch, &output).unwrap();
    assert!(text.starts_with("row 1, column 0"), "{text}");
    output[7] ^= 1;
    let text = why(&*problem, copy, &launch, &output).unwrap();
    assert!(text.starts_with("row 1, column 2"), "{text}");
}

#[test]
fn elements_are_finite_and_tell_their_places_apart() {
    let mut all: Vec<u32> = (0..1 << 20).map(element).collect();
    assert!(all.iter().all(|&bits| f32::from_bits(bits).is_finite()));
    all.sort_unstable();
    all.dedup();
    assert!(all.len() > (1 << 20) - 16, "{} of 2^20 differ", all.len());
}

#[test]
fn shapes_that_cannot_be_are_refused_with_those_that_can() {
    let ladder = ladder("transpose").unwrap();
    let table = "\
        0 5 rows = 0 is out of bounds for the ladder transpose: it takes 1 to 2147483647
        5 0 cols = 0 is out of bounds
        2^31 1 rows = 2147483648 is out of bounds
        65536 65536 65536 × 65536 is too large for the ladder transpose: it takes up to 2147483647 elements
        2^63 2^63 rows = 9223372036854775808 is out of bounds";
    for line in table.lines() {
        let cells: Vec<&str> = line.trim().splitn(3, ' ').collect();
        let [rows, cols, message] = cells[..] else {
            panic!("{line}");
        };
        let options = Options::default().with("rows", rows).with("cols", cols);
        let error = ladder.problem(&options).err().unwrap();
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(!error.is_failure());
    }
    let most = Options::default().with("rows", (1u64 << 31) - 1);
    assert!(ladder.problem(&most.with("cols", 1)).is_ok());
}

#[test]
fn the_padding_is_in_the_launch() {
    let (_, _, launch) = of("transpose_smem_unroll_pad_dyn", 4096, 4096);
    assert_eq!(launch.shared_bytes, 16 * (64 + 2) * 4);
    let words = "transpose_smem_unroll_pad_dyn_32x16<<<64x256, 32x16, 4224>>>";
    assert_eq!(launch.to_string(), words);
}

#[test]
fn what_is_said_to_fit_does() {
    for (rows, cols, share, fits) in
        [(4096, 4096, 0.25, "--rows 2000 --cols 2000"), ((1 << 31) - 1, 1, 0.01, "--rows 4000 --cols 4000")]
    {
        let (problem, _, _) = of("transpose_smem", rows, cols);
        assert_eq!(problem.smaller(share).unwrap(), fits);
    }
}
