//! The number of warps that reside on a multiprocessor.

use crate::exercise::Case;
use crate::values::floats;

exercises! {
    one_tile: [1, 2], "resident warps per SM": WARPS >= 64.0 => |blocks| {
        let [a, b] = [1, 2].map(|seed| floats(6144 * blocks, seed));
        let [reversed_a, reversed_b] = [&a, &b].map(|data| -> Vec<f32> {
            data.chunks(6144).flat_map(|part| part.iter().rev().copied()).collect()
        });
        Case::line(blocks, 256).in_place("a", a, reversed_a).in_place("b", b, reversed_b)
    };
    block_size: [1, 1000, 4096], "resident warps per SM": WARPS >= 64.0 => |n| {
        let before = floats(n, 2);
        let after: Vec<f32> = before.iter().map(|x| 2.0 * x).collect();
        Case::chosen_for(n).in_place("data", before, after).value(n as u32)
    };
}
