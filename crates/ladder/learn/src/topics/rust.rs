//! Rust on a GPU: slices, generics, traits and safe wrappers.

use crate::exercise::Case;
use crate::values::{integers, words};

exercises! {
    slices: [0, 1, 64, 100] => |n| {
        let input = words(n, 1);
        let output: Vec<u32> = input.iter().copied().skip(1).chain([0]).take(n).collect();
        Case::covering(n, 64).slice("input", &input).output("output", output)
    };
    no_std: [32, 64] => |n| {
        let input = integers(3 * n, 2);
        let middle = |three: &[i32]| {
            let mut three = three.to_vec();
            three.sort_unstable();
            three[1]
        };
        let output: Vec<i32> = input.chunks(3).map(middle).collect();
        Case::line(1, n as u32).input("input", &input).output("output", output)
    };
    array_in_registers: [64, 128], "local load requests in total": LOCAL_LOADS <= 0.0 => |n| {
        let input: Vec<u32> = words(16 * n, 3).into_iter().map(|word| word % 4).collect();
        let count = |k: u32, i: usize| (0..16).filter(|step| input[step * n + i] == k).count() as u32;
        let output: Vec<u32> = (0..4 * n).map(|at| count((at / n) as u32, at % n)).collect();
        Case::covering(n, 64).input("input", &input).output("output", output)
    };
    generic_operation: [64, 45, 1, 71] => |n| {
        let input: Vec<i32> = integers(n, 4).into_iter().map(|number| number - 2000).collect();
        // Even sizes check the sum, and odd sizes check the maximum of negative numbers.
        let is_sum = n % 2 == 0;
        let combined = |warp: &[i32]| if is_sum { warp.iter().sum() } else { warp.iter().copied().fold(i32::MIN, i32::max) };
        let output: Vec<i32> = input.chunks(32).map(combined).collect();
        let case = Case::covering(n, 32).kernel(if is_sum { "_sum" } else { "_max" });
        case.input("input", &input).output("output", output).value(n as u32)
    };
    safe_wrapper: [0, 1, 100] => |n| {
        let before = words(n, 5);
        let after: Vec<u32> = before.iter().zip(0..).map(|(word, i): (&u32, u32)| word.rotate_left(8) ^ i).collect();
        Case::covering(n, 64).in_place("data", before, after).value(n as u32)
    };
}
