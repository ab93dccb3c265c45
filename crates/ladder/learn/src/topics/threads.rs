//! The index of a thread, and bounds checks.

use crate::exercise::Case;
use crate::values::{floats, integers, words};

exercises! {
    first_kernel: [32, 64, 96] => |n| {
        Case::line(1, n as u32).output("output", (0..n as u32).map(|i| i * i).collect::<Vec<_>>())
    };
    global_index: [128, 1024] => |n| {
        Case::covering(n, 128).output("output", (0..n as u32).map(|i| 3 * i + 1).collect::<Vec<_>>())
    };
    guard: [33, 0, 1, 31, 256, 1000] => |n| {
        let (a, b) = (floats(n, 1), floats(n, 2));
        let sum: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        Case::covering(n, 128).input("a", a).input("b", b).output("sum", sum).value(n as u32)
    };
    two_dimensions: [1, 16, 33, 50] => |n| {
        // The matrix is not square, so that exchanging rows and columns is an error.
        let (rows, columns) = (n, n + 7);
        let before: Vec<u32> = words(rows * columns, 3).into_iter().map(|word| word >> 1).collect();
        let after: Vec<u32> = before.iter().map(|word| 2 * word).collect();
        let blocks = [columns.div_ceil(16), rows.div_ceil(8)];
        Case::new(blocks, [16, 8]).in_place("matrix", before, after).value(rows as u32).value(columns as u32)
    };
    neighbors: [0, 1, 2, 128, 301] => |n| {
        let input = integers(n, 4);
        let at = |i: usize| input.get(i).copied().unwrap_or(0);
        let output: Vec<i32> = (0..n).map(|i| at(i.wrapping_sub(1)) + at(i) + at(i + 1)).collect();
        Case::covering(n, 128).input("input", &input).output("output", output).value(n as u32)
    };
    grid_stride: [0, 1, 200, 512, 3001] => |n| {
        let input: Vec<u32> = words(n, 5).into_iter().map(|word| word >> 2).collect();
        let output: Vec<u32> = input.iter().map(|word| 2 * word + 1).collect();
        Case::line(4, 128).input("input", input).output("output", output).value(n as u32)
    };
}
