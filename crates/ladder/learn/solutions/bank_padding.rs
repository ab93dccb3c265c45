//! Hints:
//!
//! 1. The bank of element (row, column) is `(row * PITCH + column) % 32`. A warp reads 16 rows of 2 neighboring
//!    columns.
//! 2. If the words of one column use every second bank, the next column can use the other banks.
//! 3. `PITCH * row` must go through the 16 even banks, so `PITCH % 32` must be twice an odd number: `const PITCH: u32 =
//!    34;`
//!
//! For a 32 x 32 tile, in which a warp reads one column, a pitch of 33 words is enough. Here 33 is not enough, because
//! the two columns would share 15 banks.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of words from one row of the tile to the next.
const PITCH: u32 = 34;

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
