//! Softmax: sums of exponentials, and rows that are read once.

use crate::exercise::Case;
use crate::values::floats;

/// Returns `m` rows of `n` elements. The elements of a row are around 0, 100 or -200, so that some exponentials
/// overflow or underflow.
fn rows(m: usize, n: usize, seed: u32) -> Vec<f32> {
    let around = |i: usize| [0.0, 100.0, -200.0][i / n % 3];
    floats(m * n, seed).into_iter().enumerate().map(|(i, x)| around(i) + x).collect()
}

/// Replaces a row with its softmax, computed in f64.
fn softmax(row: &mut [f32]) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponential = |x: f32| f64::from(x - max).exp();
    let sum: f64 = row.iter().map(|x| exponential(*x)).sum();
    row.iter_mut().for_each(|x| *x = (exponential(*x) / sum) as f32);
}

/// Returns the elements of `m` rows of `n` elements in column-major order.
fn transposed(elements: &[f32], m: usize, n: usize) -> Vec<f32> {
    (0..m * n).map(|i| elements[i % m * n + i / m]).collect()
}

exercises! {
    row_maximum: [7, 1, 64] => |m| {
        let mut input = rows(m, 20, 1);
        input.iter_mut().skip(3).step_by(7).for_each(|x| *x = f32::NEG_INFINITY);
        let mut output = input.clone();
        output.chunks_mut(20).for_each(softmax);
        let case = Case::covering(m, 64).input("input", input).output("output", output);
        case.value(m as u32).value(20_u32).tolerance(1e-6)
    };
    online_softmax: [1, 33, 64], "load requests in total": LOADS <= 64.0 => |columns| {
        let input = rows(columns, 16, 2);
        let mut output = input.clone();
        output.chunks_mut(16).for_each(softmax);
        let [input, output] = [input, output].map(|rows| transposed(&rows, columns, 16));
        let case = Case::covering(columns, 64).input("input", input).output("output", output);
        case.value(16_u32).value(columns as u32).tolerance(1e-6)
    };
    merge_parts: [100, 32, 10, 1] => |n| {
        let input = rows(3, n, 3);
        let mut output = input.clone();
        output.chunks_mut(n).for_each(softmax);
        let case = Case::line(3, 32).input("input", input).output("output", output);
        case.value(n as u32).tolerance(1e-6)
    };
    row_in_registers: [100, 1, 32, 256],
        "load requests in total": LOADS <= 64.0, "local load requests in total": LOCAL_LOADS <= 0.0 => |n| {
        let (mut input, weight) = (floats(4 * n, 4), floats(n, 5));
        input[3 * n..].fill(0.0);
        let row = |row: &[f32]| -> Vec<f32> {
            let squares: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
            let factor = 1.0 / (squares / n as f64 + 1e-6).sqrt();
            row.iter().zip(&weight).map(|(x, weight)| (f64::from(*x) * factor * f64::from(*weight)) as f32).collect()
        };
        let output: Vec<f32> = input.chunks(n).flat_map(row).collect();
        let case = Case::line(4, 32).input("input", input).input("weight", weight).output("output", output);
        case.value(n as u32).tolerance(1e-6)
    };
}
