//! Sorting: networks, splits, ranks and scatters.

use super::warps::by_warp;
use crate::exercise::Case;
use crate::values::words;

/// Returns the index of each key after a stable sort by its digit, which is the key modulo 16.
fn places(keys: &[u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|i| keys[*i] % 16);
    let mut places = vec![0; keys.len()];
    order.into_iter().enumerate().for_each(|(place, i)| places[i] = place as u32);
    places
}

exercises! {
    compare_exchange: [64, 192] => |n| by_warp(n, <[i32]>::sort_unstable);
    split_by_bit: [64, 192] => |n| {
        let input = words(n, 2);
        let mut output = input.clone();
        output.chunks_mut(32).for_each(|warp| warp.sort_by_key(|key| key >> 5 & 1));
        Case::covering(n, 64).input("input", input).output("output", output).value(5_u32)
    };
    stable_rank: [128, 384] => |n| {
        let keys = words(n, 3);
        let mut ranks = Vec::new();
        for part in keys.chunks(128) {
            let mut counts = [0_u32; 16];
            ranks.extend(part.iter().map(|key| {
                let count = &mut counts[*key as usize % 16];
                *count += 1;
                *count - 1
            }));
        }
        Case::line(n / 128, 32).input("keys", keys).output("ranks", ranks)
    };
    scatter_in_order: [256, 1024], "sectors per store request": SECTORS_A_STORE <= 8.0 => |n| {
        let input = words(n, 4);
        let mut output = input.clone();
        output.sort_by_key(|key| key % 16);
        let in_output = places(&input);
        let (mut in_blocks, mut starts) = (Vec::new(), Vec::new());
        for (block, keys) in input.chunks(256).enumerate() {
            let in_block = places(keys);
            // For all keys with the same digit, the place in the output minus the place in the block is the same.
            let distance = |digit: u32| {
                let i = keys.iter().position(|key| key % 16 == digit);
                i.map_or(0, |i| in_output[block * 256 + i].wrapping_sub(in_block[i]))
            };
            starts.extend((0..16).map(distance));
            in_blocks.extend(in_block);
        }
        let case = Case::covering(n, 256).input("input", input).input("places", in_blocks);
        case.input("starts", starts).output("output", output)
    };
}
