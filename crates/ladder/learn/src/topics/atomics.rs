//! Atomics, memory orderings and fences.

use crate::exercise::Case;
use crate::values::{integers, words};

/// Returns the number of occurrences of each value below 64.
fn counts(input: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; 64];
    input.iter().for_each(|value| counts[*value as usize] += 1);
    counts
}

/// Returns `n` values below 64. Most of the values are below `often`.
fn values(n: usize, often: u32) -> Vec<u32> {
    words(n, 1).into_iter().map(|word| if word % 16 < 15 { word / 16 % often } else { word / 16 % 64 }).collect()
}

exercises! {
    histogram: [0, 1, 100, 1000] => |n| {
        let input = values(n, 64);
        let counts = counts(&input);
        Case::covering(n, 128).input("input", input).in_place("counts", vec![0_u32; 64], counts).value(n as u32)
    };
    private_histogram: [0, 1, 100, 4000], "atomic requests to global memory in total": ATOMICS <= 8.0 => |n| {
        let input = values(n, 64);
        let counts = counts(&input);
        Case::line(4, 64).input("input", input).in_place("counts", vec![0_u32; 64], counts).value(n as u32)
    };
    aggregated_histogram: [128, 1024], "sectors of global atomics in total": ATOMIC_SECTORS <= 320.0 => |n| {
        let input = values(n, 3);
        let counts = counts(&input);
        Case::covering(n, 128).input("input", input).in_place("counts", vec![0_u32; 64], counts)
    };
    append: [0, 1, 100, 1024], "sectors of global atomics in total": ATOMIC_SECTORS <= 32.0 => |n| {
        let input = integers(n, 2);
        let list: Vec<i32> = input.iter().copied().filter(|element| *element > 0).collect();
        let count = vec![list.len() as u32];
        let case = Case::covering(n, 128).any_order().input("input", input).output("list", list);
        case.in_place("count", vec![0_u32], count).value(n as u32)
    };
    compare_and_swap: [0, 1, 40, 300] => |n| {
        let input: Vec<u32> = words(n, 3).into_iter().map(|word| word | 1).collect();
        let product = input.iter().fold(1_u32, |product, word| product.wrapping_mul(*word));
        Case::covering(n, 64).input("input", input).in_place("product", vec![1_u32], vec![product]).value(n as u32)
    };
    publish: [0, 1, 20] => |n| {
        let data: Vec<u32> = (0..n as u32).map(|i| i * i).collect();
        let sum: u32 = data.iter().sum();
        let case = Case::line(2, 1).output("data", data).in_place("flag", vec![0_u32], vec![1_u32]);
        case.output("output", vec![sum]).value(n as u32)
    };
    last_block: [1, 2, 9] => |blocks| {
        let input = words(8 * blocks, 5);
        let sum = |words: &[u32]| words.iter().fold(0_u32, |sum, word| sum.wrapping_add(*word));
        let sums: Vec<u32> = input.chunks(8).map(sum).collect();
        let all = sum(&sums);
        let case = Case::line(blocks, 1).input("input", input).output("sums", sums);
        case.scratch("count", vec![0_u32]).output("output", vec![all])
    };
}
