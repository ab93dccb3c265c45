//! Bank conflicts of shared memory, and the transpose.

use crate::exercise::Case;
use crate::values::words;

/// Returns a launch that transposes a square matrix in tiles of 32 columns and `rows` rows, with a thread for each
/// element.
fn transpose(n: usize, rows: usize) -> Case {
    let input = words(n * n, 1);
    let output: Vec<u32> = (0..n * n).map(|i| input[i % n * n + i / n]).collect();
    Case::new([n / 32, n / rows], [32, rows as u32]).input("input", &input).output("output", output).value(n as u32)
}

exercises! {
    bank_stride: [256], "extra wavefronts of shared loads in total": LOAD_CONFLICTS <= 0.0 => |n| {
        let input = words(n, 2);
        let total = input.iter().fold(0_u32, |sum, word| sum.wrapping_add(*word));
        Case::line(1, 128).input("input", input).in_place("total", vec![0_u32], vec![total])
    };
    transpose_tile: [32, 96, 64], "sectors per load request": SECTORS_A_LOAD <= 4.0,
        "sectors per store request": SECTORS_A_STORE <= 4.0 => |n| transpose(n, 32);
    bank_padding: [32, 64], "extra wavefronts of shared loads in total": LOAD_CONFLICTS <= 0.0,
        "sectors per store request": SECTORS_A_STORE <= 4.0 => |n| transpose(n, 16);
    bank_swizzle: [32, 64], "extra wavefronts of shared loads in total": LOAD_CONFLICTS <= 0.0,
        "extra wavefronts of shared stores in total": STORE_CONFLICTS <= 0.0 => |n| transpose(n, 32);
}
