//! Hints:
//!
//! 1. Thread (x, y) puts element (top + y, left + x) into `tile[y * 32 + x]`.
//! 2. The tile goes to the output at row `left`, column `top`: there thread (x, y) writes element (left + y, top + x).
//! 3. That element is `tile[x * 32 + y]`.
//!
//! Only the accesses to shared memory go down a column now. How bad that is, and what helps, come next.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n * n` elements, where `n` is a multiple of 32. Blocks have 32 x 32 threads, and the grid
/// `n / 32` of them in x and in y.
#[kernel]
pub unsafe fn transpose_tile(input: *const u32, output: *mut u32, n: u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 1024]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: in bounds; each element has one writer, and those of the tile are read after the barrier.
    unsafe {
        *tile.add((y * 32 + x) as usize) = *input.add(((top + y) * n + left + x) as usize);
        thread::sync_threads();
        *output.add(((left + y) * n + top + x) as usize) = *tile.add((x * 32 + y) as usize);
    }
}
