//! Products on tensor cores.

use crate::exercise::Case;
use crate::values::words;

/// Returns `count` words, each with two bfloat16 neighbors along `k`. The elements are small integers, whose products
/// and sums are exact.
pub(super) fn pairs(count: usize, seed: u32) -> Vec<u32> {
    let bits = |word: u32| ((word % 9) as f32 - 4.0).to_bits() >> 16;
    words(count, seed).into_iter().map(|word| bits(word >> 8) | bits(word >> 16) << 16).collect()
}

/// Returns the product of 16 rows of `a` and 8 columns of `b`, which have `length` words each.
pub(super) fn product(a: &[u32], b: &[u32], length: usize) -> Vec<f32> {
    let elements = |word: u32| [f32::from_bits(word << 16), f32::from_bits(word & 0xffff_0000)];
    let element = |index: usize| {
        let (row, column) = (index / 8, index % 8);
        let pairs = a[row * length..].iter().zip(&b[column * length..]).take(length);
        let products = pairs.map(|(a, b)| {
            let ([a0, a1], [b0, b1]) = (elements(*a), elements(*b));
            a0 * b0 + a1 * b1
        });
        products.sum()
    };
    (0..128).map(element).collect()
}

exercises! {
    mma_fragments: [1] => |_| {
        let (a, b) = (pairs(128, 1), pairs(64, 2));
        let c = product(&a, &b, 8);
        Case::line(1, 32).input("a", a).input("b", b).output("c", c)
    };
    ldmatrix_banks: [1], "extra wavefronts of shared loads in total": LOAD_CONFLICTS <= 0.0 => |_| {
        let input = words(256, 3);
        // Lane l holds word l % 4 of row l / 4 of each 8 x 8 matrix.
        let word = |index: usize| {
            let (matrix, lane) = (index / 32, index % 32);
            let row = lane / 4 + matrix % 2 * 8;
            input[row * 16 + matrix / 2 * 4 + lane % 4]
        };
        let fragments: Vec<u32> = (0..256).map(word).collect();
        Case::line(1, 32).input("input", input.clone()).output("fragments", fragments)
    };
    empty_groups: [1, 2, 3, 8] => |steps| {
        let (a, b) = (pairs(128 * steps, 4), pairs(64 * steps, 5));
        let c = product(&a, &b, 8 * steps);
        Case::line(1, 32).input("a", a).input("b", b).output("c", c).value(steps as u32)
    };
}
