#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladders::rung_fixture::{RungFixture, rung_fixture};
use engine::problem::POISON;

fn transpose_fixture(rung: &str, rows: u32, cols: u32) -> RungFixture {
    rung_fixture(rung, &Options::default().with("rows", rows).with("cols", cols))
}

/// Returns the output of a correct kernel.
fn right(input: &[u32], rows: usize, cols: usize) -> Vec<u32> {
    (0..rows * cols).map(|at| input[at % rows * cols + at / rows]).collect()
}

#[test]
fn the_check_accepts_a_right_output_and_names_a_wrong_element() {
    for (rows, cols) in [(1, 1), (1, 100), (100, 1), (65, 130)] {
        let fixture = transpose_fixture("transpose_smem", rows, cols);
        let mut output = right(fixture.input(), rows as usize, cols as usize);
        assert_eq!(fixture.why(&output), None);
        let last = (rows * cols - 1) as usize;
        output[last] ^= 1;
        let text = fixture.why(&output).unwrap();
        let place = format!("row {}, column {} of the output is ", cols - 1, rows - 1);
        assert!(text.starts_with(&place), "{text}");
        assert!(fixture.why::<u32>(&[]).is_some());
    }
    let text = transpose_fixture("transpose_smem", 3, 5).why(&[POISON; 15 * 4]).unwrap();
    assert!(text.contains("the value from before the launch"), "{text}");
}

#[test]
fn a_copy_is_right_for_the_bound_alone() {
    let copy = transpose_fixture("copy_gmem", 3, 5);
    let mut output = copy.input::<u32>().to_vec();
    assert_eq!(copy.why(&output), None);
    let text = transpose_fixture("transpose_naive", 3, 5).why(&output).unwrap();
    assert!(text.starts_with("row 1, column 0"), "{text}");
    output[7] ^= 1;
    let text = copy.why(&output).unwrap();
    assert!(text.starts_with("row 1, column 2"), "{text}");
}

#[test]
fn elements_are_finite_and_identify_their_indices() {
    let mut all: Vec<u32> = (0..1 << 20).map(element).collect();
    assert!(all.iter().all(|&bits| f32::from_bits(bits).is_finite()));
    all.sort_unstable();
    all.dedup();
    assert!(all.len() > (1 << 20) - 16, "{} of 2^20 differ", all.len());
}

#[test]
fn the_padding_is_in_the_launch() {
    let launch = transpose_fixture("transpose_smem_unroll_pad_dyn", 4096, 4096).launch;
    assert_eq!(launch.shared_bytes, 16 * (64 + 2) * 4);
    let words = "transpose_smem_unroll_pad_dyn_32x16<<<64x256, 32x16, 4224>>>";
    assert_eq!(launch.to_string(), words);
}

#[test]
fn the_smaller_problem_fits() {
    for (rows, cols, share, fits) in
        [(4096, 4096, 0.25, "--rows 2000 --cols 2000"), ((1 << 31) - 1, 1, 0.01, "--rows 4000 --cols 4000")]
    {
        assert_eq!(
            transpose_fixture("transpose_smem", rows, cols).problem.smaller(share).unwrap().command_line(),
            fits
        );
    }
}
