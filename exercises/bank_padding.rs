//! Padding: a pitch without bank conflicts.
//!
//! The distance between two rows of a tile, in words, is its *pitch*. The pitch can be larger than the number of
//! columns: the words after the end of a row are padding that no thread uses. The pitch determines the banks of the
//! words in a column.
//!
//! This kernel transposes in tiles of 16 rows and 32 columns. A warp reads two neighboring columns of the tile and
//! writes 16 words to each of two output rows. With a pitch of 32 words, all words of a column are in one bank. Choose
//! a pitch so that the loads have no extra wavefronts.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of words from one row of the tile to the next.
// TODO: choose another pitch.
const PITCH: u32 = 32;

/// # Safety
/// `input` and `output` point to `n * n` elements, where `n` is a multiple of 32. Blocks have 32 x 16 threads, and the
/// grid has `n / 32` blocks in x and `n / 16` in y.
#[kernel]
pub unsafe fn bank_padding(input: *const u32, output: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 16 * PITCH as usize]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 16);
    // The element of the tile that this thread writes to the output: 16 threads share a column.
    let (row, column) = (x % 16, 2 * y + x / 16);
    // SAFETY: the grid covers the matrix exactly. Each element has one writer, and the tile is read after the barrier.
    unsafe {
        *tile.add((y * PITCH + x) as usize) = *input.add(((top + y) * n + left + x) as usize);
        thread::sync_threads();
        *output.add(((left + column) * n + top + row) as usize) = *tile.add((row * PITCH + column) as usize);
    }
}
