//! Hints:
//!
//! 1. The tile needs `32 * 33` words.
//! 2. Element (row, column) lies at `row * 33 + column`, for writing and for reading.
//!
//! 33 modulo 32 is 1, so going one row down goes one bank on. Any odd number of words would do; 33 wastes the least.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Words of a row of the tile.
const PITCH: u32 = 33;

/// # Safety
/// As for `transpose_tile`.
#[kernel]
pub unsafe fn bank_padding(input: *const u32, output: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32 * 33]> = MaybeUninit::uninit();
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
