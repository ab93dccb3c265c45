//! Padding: bring 32 wavefronts a load down to 1.
//!
//! In a tile whose rows have 32 words, all words of a column lie in one bank. A warp that reads a column takes 32 wavefronts.
//!
//! If each row has one more word, which nobody uses, the next row begins one bank further, and the words of a column lie in
//! 32 different banks. This is the transpose of a tile; give the tile rows of 33 words.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Words of a row of the tile.
// TODO: one more.
const PITCH: u32 = 32;

/// # Safety
/// As for `transpose_tile`.
#[kernel]
pub unsafe fn bank_padding(input: *const u32, output: *mut u32, n: u32) {
    // TODO: and words enough.
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32 * 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    // SAFETY: in bounds; each element has one writer, and those of the tile are read after the barrier.
    unsafe {
        *tile.add((y * PITCH + x) as usize) = *input.add(((top + y) * n + left + x) as usize);
        thread::sync_threads();
        *output.add(((left + y) * n + top + x) as usize) = *tile.add((x * PITCH + y) as usize);
    }
}
