//! The launch: grid, block and bytes of shared memory.

use super::reduction::sums;
use crate::exercise::Case;
use crate::values::{integers, words};

exercises! {
    grid_size: [1000, 1, 128, 0] => |n| {
        let before = words(n, 1);
        let after: Vec<u32> = before.iter().map(|word| word ^ 1).collect();
        Case::chosen_for(n).in_place("data", before, after).value(n as u32)
    };
    shared_bytes: [256, 1000, 1] => |n| {
        let input = integers(n, 2);
        let output = sums(&input, 256);
        Case::chosen_for(n).input("input", input).output("output", output).value(n as u32)
    };
}
