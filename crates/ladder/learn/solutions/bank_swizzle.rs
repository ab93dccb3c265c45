//! Hints:
//!
//! 1. `row * 32` stays, and so does the size of the tile.
//! 2. `row * 32 + (column ^ row)`
//!
//! For a fixed row, `column ^ row` goes over all numbers from 0 to 31 once: no two elements get the same place.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Where the tile has an element.
fn place(row: u32, column: u32) -> usize {
    (row * 32 + (column ^ row)) as usize
}

/// # Safety
/// As for `transpose_tile`.
#[kernel]
pub unsafe fn bank_swizzle(input: *const u32, output: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32 * 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    // SAFETY: in bounds; each element has one writer, and those of the tile are read after the barrier.
    unsafe {
        *tile.add(place(y, x)) = *input.add(((top + y) * n + left + x) as usize);
        thread::sync_threads();
        *output.add(((left + y) * n + top + x) as usize) = *tile.add(place(x, y));
    }
}
