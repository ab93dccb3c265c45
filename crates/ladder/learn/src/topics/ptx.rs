//! The compiler's PTX, and inline PTX.

use crate::exercise::Case;
use crate::values::words;

exercises! {
    bounds_checks: [256, 1024], "branches executed by warps in total": BRANCHES <= 32.0 => |n| {
        let input = words(8 * n, 1);
        let sum = |row: &[u32]| row.iter().fold(0_u32, |sum, word| sum.wrapping_add(*word));
        let output: Vec<u32> = input.chunks(8).map(sum).collect();
        Case::covering(n, 256).slice("input", &input).output("output", output)
    };
    inline_ptx: [64, 256], "PTX instructions per warp": INSTRUCTIONS <= 20.0 => |n| {
        let (a, b) = (words(n, 2), words(n, 3));
        let bytes = |word: &u32| word.to_le_bytes().map(u32::from);
        let product = |a: &u32, b: &u32| bytes(a).iter().zip(bytes(b)).map(|(a, b)| a * b).sum::<u32>();
        let output: Vec<u32> = a.iter().zip(&b).map(|(a, b)| product(a, b)).collect();
        Case::covering(n, 64).input("a", a).input("b", b).output("output", output)
    };
}
