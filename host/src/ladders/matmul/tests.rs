#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladder;
use crate::ladders::rung_fixture::rung_fixture;
use engine::DeviceProperties;
use engine::problem::POISON;

fn sides(m: u64, n: u64, k: u64) -> Options {
    Options::default().with("m", m).with("n", n).with("k", k)
}

/// Returns the output of a correct kernel: summed in single precision, from the first product to the last.
fn right(problem: &dyn Problem, [m, n, k]: [usize; 3]) -> Vec<f32> {
    let a: &[f32] = bytemuck::cast_slice(problem.input(0));
    let b: &[f32] = bytemuck::cast_slice(problem.input(1));
    let product = |at: usize, i: usize| (a[at / n * k + i], b[i * n + at % n]);
    let element = |at| {
        let products = (0..k).map(|i| product(at, i));
        products.fold(0f32, |sum, (a, b)| a.mul_add(b, sum))
    };
    (0..m * n).map(element).collect()
}

#[test]
fn single_precision_passes_and_a_missing_product_fails() {
    for shape in [[1, 1, 1], [3, 5, 7], [17, 33, 100], [4, 4, 1000]] {
        let [m, n, k] = shape.map(|side| side as u64);
        let fixture = rung_fixture("matmul_naive", &sides(m, n, k));
        let mut c = right(&*fixture.problem, shape);
        assert_eq!(fixture.why(&c), None, "{shape:?}");

        let last = (m * n - 1) as usize;
        let a: &[f32] = fixture.input();
        let b: &[f32] = bytemuck::cast_slice(fixture.problem.input(1));
        let whole = c[last];
        c[last] -= a[a.len() - 1] * b[b.len() - 1];
        let why = fixture.why(&c).unwrap();
        let (row, column, found) = (m - 1, n - 1, c[last]);
        let place = format!("row {row}, column {column} of the product");
        assert_eq!(why, format!("{place} is {found:e}; {whole:e} is right"));

        c[last] = f32::NAN;
        assert!(fixture.why(&c).is_some(), "a NaN is wrong");
    }
}

#[test]
fn an_unwritten_output_is_wrong() {
    let fixture = rung_fixture("matmul_naive", &sides(2, 3, 4));
    let why = fixture.why(&[POISON; 6 * 4]).unwrap();
    assert!(why.contains(", the value from before the launch; "), "{why}");
    assert!(fixture.why::<f32>(&[]).is_some());
}

#[test]
fn both_layouts_of_the_second_matrix_hold_the_same_elements() {
    let problem = ladder("matmul").unwrap().problem(&sides(1, 3, 5)).unwrap();
    let rows: &[f32] = bytemuck::cast_slice(problem.input(1));
    let columns: &[f32] = bytemuck::cast_slice(problem.input(2));
    for row in 0..5 {
        for column in 0..3 {
            assert_eq!(rows[row * 3 + column], columns[column * 5 + row]);
        }
    }
    assert!(rows.iter().any(|&x| x < 0.0) && rows.iter().all(|x| x.abs() <= 1.0));
}

#[test]
fn the_smaller_problem_fits() {
    let matmul = ladder("matmul").unwrap();
    // For k = 1, the product needs nearly all of the memory. Both forms of the second matrix and the copies are
    // negligible.
    let problem = matmul.problem(&sides(10_000, 10_000, 1)).unwrap();
    let need: u64 = problem.buffers(DeviceProperties::default()).iter().map(|buffer| buffer.bytes).sum();
    let fits = problem.smaller(0.5).unwrap();
    assert_eq!(fits.command_line(), "--m 2000 --n 2000 --k 2000");
    let square = matmul.problem(&sides(2000, 2000, 2000)).unwrap();
    let sizes = || square.buffers(DeviceProperties::default()).into_iter().map(|buffer| buffer.bytes);
    let (restored, all): (u64, u64) = (sizes().take(3).sum(), sizes().sum());
    assert!(all + restored <= need / 2, "{} of {need}", all + restored);
}
