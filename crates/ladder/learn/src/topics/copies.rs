//! Asynchronous copies and pipelines.

use crate::exercise::Case;
use crate::values::floats;

/// Reverses each part of 64 elements.
fn reverse_parts(values: &[f32]) -> Vec<f32> {
    values.chunks(64).flat_map(|part| part.iter().rev().copied()).collect()
}

exercises! {
    async_copy: [64, 192] => |n| {
        let input = floats(n, 1);
        let output: Vec<f32> = input.iter().map(|x| 2.0 * x).collect();
        Case::covering(n, 64).input("input", input).output("output", output)
    };
    groups_of_copies: [64] => |n| {
        let input = floats(n, 3);
        let output: Vec<f32> = (0..32).map(|i| input[i] * input[i + 32]).collect();
        Case::line(1, 32).input("input", input).output("output", output)
    };
    copy_pipeline: [0, 1, 2, 7], "arrivals of warps at barriers in total": BARRIERS <= 14.0 => |turns| {
        let input = floats(turns * 64, 4);
        let output = reverse_parts(&input);
        Case::line(1, 64).input("input", input).output("output", output).value(turns as u32)
    };
}
