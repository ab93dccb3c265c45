//! Shuffles and votes of the 32 lanes of a warp.

use super::reduction::sum_of_parts;
use crate::exercise::Case;
use crate::values::integers;

/// Returns a launch with blocks of 64 threads that changes the elements of each warp.
pub(super) fn by_warp(n: usize, change: impl Fn(&mut [i32])) -> Case {
    let before = integers(n, 1);
    let mut after = before.clone();
    after.chunks_mut(32).for_each(change);
    Case::covering(n, 64).in_place("data", before, after)
}

exercises! {
    broadcast: [64, 192] => |n| by_warp(n, |warp| {
        let first = warp[0];
        warp.iter_mut().for_each(|element| *element -= first);
    });
    differences: [64, 192], "load requests in total": LOADS <= 6.0 => |n| {
        let input = integers(n, 2);
        let output: Vec<i32> = (0..n).map(|i| input[i] - if i % 32 > 0 { input[i - 1] } else { 0 }).collect();
        Case::covering(n, 64).input("input", &input).output("output", output)
    };
    butterfly: [64, 192] => |n| by_warp(n, |warp| {
        let sum: i32 = warp.iter().sum();
        warp.fill(sum);
    });
    segments: [64, 192] => |n| by_warp(n, |warp| {
        for row in warp.chunks_mut(8) {
            let first = row[0];
            row.iter_mut().for_each(|element| *element -= first);
        }
    });
    scan: [64, 192] => |n| by_warp(n, |warp| {
        let mut sum = 0;
        for element in warp {
            sum += *element;
            *element = sum;
        }
    });
    reduce_warps: [0, 1, 255, 600, 512], "arrivals of warps at barriers in total": BARRIERS <= 16.0 => |n| sum_of_parts(n, 256, 256);
    count_votes: [64, 192] => |n| {
        let input = integers(n, 4);
        let negative = |warp: &[i32]| warp.iter().filter(|element| **element < 0).count() as u32;
        let output: Vec<u32> = input.chunks(32).map(negative).collect();
        Case::covering(n, 64).input("input", &input).output("output", output)
    };
    compact: [64, 192] => |n| {
        let input = integers(n, 5);
        let mut output = Vec::new();
        for warp in input.chunks(32) {
            let positive: Vec<i32> = warp.iter().copied().filter(|element| *element > 0).collect();
            output.extend(positive.iter().copied().chain([0; 32]).take(32));
        }
        Case::covering(n, 64).input("input", input).output("output", output)
    };
}
