//! Prefix sums, within a block and from block to block.

use super::warps::by_warp;
use crate::exercise::Case;
use crate::values::{integers, words};

/// Replaces each element with the sum of all elements up to it.
fn scan(elements: &mut [u32]) {
    let mut sum = 0_u32;
    for element in elements {
        sum = sum.wrapping_add(*element);
        *element = sum;
    }
}

exercises! {
    exclusive_maximum: [64, 192] => |n| by_warp(n, |warp| {
        let mut largest = i32::MIN;
        for element in warp {
            largest = largest.max(std::mem::replace(element, largest));
        }
    });
    scan_rows: [128, 384], "sectors per load request": SECTORS_A_LOAD <= 4.0 => |n| {
        let before = integers(n, 3);
        let mut after = before.clone();
        for part in after.chunks_mut(128) {
            let mut sum = 0;
            part.iter_mut().for_each(|element| { sum += *element; *element = sum; });
        }
        Case::line(n / 128, 32).in_place("data", before, after)
    };
    scan_padding: [256, 768], "extra wavefronts of shared loads in total": LOAD_CONFLICTS <= 12.0,
        "extra wavefronts of shared stores in total": STORE_CONFLICTS <= 12.0 => |n| {
        let before = words(n, 4);
        let mut after = before.clone();
        after.chunks_mut(256).for_each(scan);
        Case::line(n / 256, 128).in_place("data", before, after)
    };
    tile_state: [1, 2, 9] => |blocks| {
        let input = words(8 * blocks, 5);
        let mut sums = input.clone();
        scan(&mut sums);
        let prefixes: Vec<u32> = sums.into_iter().skip(7).step_by(8).collect();
        let published: Vec<u64> = prefixes.iter().map(|prefix| 1 << 32 | u64::from(*prefix)).collect();
        let case = Case::line(blocks, 1).input("input", input);
        case.in_place("words", vec![0_u64; blocks], published).output("prefixes", prefixes)
    };
}
