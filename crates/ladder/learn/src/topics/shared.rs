//! Shared memory and barriers.

use crate::exercise::Case;
use crate::values::{integers, words};

/// Reverses each part of `part` elements.
fn reverse_parts(values: &[u32], part: usize) -> Vec<u32> {
    values.chunks(part).flat_map(|part| part.iter().rev().copied()).collect()
}

exercises! {
    shared_static: [128, 384] => |n| {
        let before = words(n, 1);
        let after = reverse_parts(&before, 128);
        Case::covering(n, 128).in_place("data", before, after)
    };
    first_barrier: [256, 512] => |n| {
        let input = words(n, 2);
        let output: Vec<u32> = (0..n).map(|i| input[i / 256 * 256 + (i + 100) % 256]).collect();
        Case::covering(n, 256).input("input", &input).output("output", output)
    };
    dynamic_shared: [32, 64, 128, 256] => |threads| {
        let before = words(3 * threads, 6);
        let after = reverse_parts(&before, threads);
        Case::line(3, threads as u32).shared(4 * threads).in_place("data", before, after)
    };
    halo: [0, 1, 5, 128, 131, 512], "load requests in total": LOADS <= 20.0 => |n| {
        let input = integers(n, 7);
        let sum = |i: usize| input[i.saturating_sub(3)..n.min(i + 4)].iter().sum();
        let output: Vec<i32> = (0..n).map(sum).collect();
        Case::covering(n, 128).input("input", &input).output("output", output).value(n as i32)
    };
}
