//! Hints:
//!
//! 1. Each thread writes one element to the tile and reads another element. What goes between the two accesses?
//! 2. The tile goes to the output at row `left` and column `top`. Which output element does thread (x, y) write, if
//!    neighboring threads write neighboring words?
//! 3. Thread (x, y) writes output element (left + y, top + x), which is element `x * 32 + y` of the tile.
//!
//! Each warp now reads a column of the tile. The next exercises count the bank conflicts of such reads and remove them.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n * n` elements, where `n` is a multiple of 32. Blocks have 32 x 32 threads, and the
/// grid has `n / 32` blocks in x and in y.
#[kernel]
pub unsafe fn transpose_tile(input: *const u32, output: *mut u32, n: u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 1024]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: the grid covers the matrix exactly. Each element has one writer, and the tile is read after the barrier.
    unsafe {
        *tile.add((y * 32 + x) as usize) = *input.add(((top + y) * n + left + x) as usize);
        thread::sync_threads();
        *output.add(((left + y) * n + top + x) as usize) = *tile.add((x * 32 + y) as usize);
    }
}
