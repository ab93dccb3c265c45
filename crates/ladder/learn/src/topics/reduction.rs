//! The sum of many numbers, step by step.

use crate::exercise::Case;
use crate::values::integers;

/// Returns the sums of parts of `part` elements, or a single 0 if there are no elements.
pub(super) fn sums(input: &[i32], part: usize) -> Vec<i32> {
    match input.is_empty() {
        true => vec![0],
        false => input.chunks(part).map(|part| part.iter().sum()).collect(),
    }
}

/// Returns a launch that sums parts of `part` elements, with `threads` threads per block.
pub(super) fn sum_of_parts(n: usize, threads: u32, part: usize) -> Case {
    let input = integers(n, 1);
    let output = sums(&input, part);
    Case::line(output.len(), threads).input("input", input).output("output", output).value(n as u32)
}

exercises! {
    reduce_tree: [0, 1, 127, 128, 300] => |n| sum_of_parts(n, 128, 128);
    reduce_together: [0, 1, 127, 300, 256], "divergent branches in total": SPLITS <= 12.0 => |n| sum_of_parts(n, 128, 128);
    reduce_more_a_thread: [0, 1, 130, 512, 2000, 2048], "arrivals of warps at barriers in total": BARRIERS <= 128.0 => |n| {
        sum_of_parts(n, 128, 512)
    };
    reduce_block_size: [0, 1, 255, 600, 512], "branches executed by warps in total": BRANCHES <= 160.0 => |n| {
        // The sizes alternate between the two kernels, and the last size is for the larger block.
        match n % 2 == 0 {
            true => sum_of_parts(n, 256, 256).kernel("_256"),
            false => sum_of_parts(n, 64, 64).kernel("_64"),
        }
    };
}
