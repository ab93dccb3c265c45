//! Hints:
//!
//! 1. Write down the positions modulo 8 of chunk 0 in rows 0 to 7. Which rows share a position?
//! 2. Two rows fill the 8 positions of a line. Permute the chunks of a row among its four positions, in a different way
//!    in each of four consecutive lines.
//! 3. With `x` from 0 to 3, `chunk ^ x` gives four different orders of a row's chunks. Which `x` should a line use?
//!
//! Rows 2 `i` and 2 `i + 1` lie in line `i`, so chunk 0 of 8 rows lies in four lines. With `i % 4` as the pattern,
//! chunk 0 has a different position in each of these lines. `gemm_ldmatrix` swizzles its tiles in the same way. Padding
//! would avoid the conflicts too, but the tile would need more memory.

use crate::shared_address;
use crate::wide::Wide;
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Returns the position of a chunk in the tile, 0 to 63. Each of the 16 rows × 4 chunks has a different position.
fn place(row: usize, chunk: usize) -> usize {
    row * 4 + (chunk ^ row / 2 % 4)
}

/// # Safety
/// `input` points to 64 chunks and `fragments` to 256 words. There is one block of 32 threads.
#[kernel]
pub unsafe fn ldmatrix_banks(input: *const Wide<u32, 4>, fragments: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[Wide<u32, 4>; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<Wide<u32, 4>>();
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: the positions are in the tile. The barrier separates the stores from the loads, which all lanes execute.
    unsafe {
        for i in [lane, lane + 32] {
            *tile.add(place(i / 4, i % 4)) = *input.add(i);
        }
        cuda_std::warp::sync_warp(u32::MAX);
        for half in 0..2 {
            // Matrices 0 and 1 are the upper and the lower 8 rows of one column of chunks. Matrices 2 and 3 are the
            // same rows of the next column of chunks.
            let (row, chunk) = (lane % 16, 2 * half + lane / 16);
            let words = ldmatrix(shared_address(tile.add(place(row, chunk))));
            for (register, word) in words.into_iter().enumerate() {
                *fragments.add((half * 4 + register) * 32 + lane) = word;
            }
        }
    }
}

/// Loads four 8 × 8 matrices: lane `l` passes the address of row `l % 8` of matrix `l / 8`.
///
/// # Safety
/// The caller must ensure that all lanes of the warp execute the call together, and that `row` is the address of 16
/// bytes of shared memory.
#[inline(always)]
#[allow(unused, reason = "the host has no tensor cores")]
unsafe fn ldmatrix(row: u32) -> [u32; 4] {
    let [mut first, mut second, mut third, mut fourth] = [0; 4];
    ptx!(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
        out(reg32) first, out(reg32) second, out(reg32) third, out(reg32) fourth, in(reg32) row,
    );
    [first, second, third, fourth]
}
