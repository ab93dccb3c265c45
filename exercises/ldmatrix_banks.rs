//! `ldmatrix` without bank conflicts: choose where a tile's chunks lie.
//!
//! A warp stores a tile of 16 rows × 32 elements in shared memory and loads two fragments from it. A row is 64 bytes,
//! or four 16-byte *chunks*. `ldmatrix` loads four 8 × 8 matrices. Each matrix has a chunk from each of 8 rows, and
//! these 8 chunks take one wavefront if they lie in different banks. Two chunks conflict if their positions are equal
//! modulo 8.
//!
//! If the rows follow one another in memory, the 8 chunks have only two different positions modulo 8. So the loads take
//! 24 extra wavefronts. Change `place` so that the loads take no extra wavefronts. The tile has space for
//! exactly its 64 chunks, so padding does not fit.

use crate::shared_address;
use crate::wide::Wide;
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Returns the position of a chunk in the tile, 0 to 63. Each of the 16 rows × 4 chunks has a different position.
fn place(row: usize, chunk: usize) -> usize {
    // TODO: choose other positions for some of the chunks.
    row * 4 + chunk
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
