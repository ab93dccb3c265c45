//! Hints:
//!
//! 1. The row of the tile stays `row * 32`. Replace `column` with a function of `row` and `column` whose values are 0
//!    to 31.
//! 2. For a fixed row, the function must return different values for different columns, and vice versa. Some bitwise
//!    operators have this property.
//! 3. `row * 32 + (column ^ row)`
//!
//! For a fixed row, `column ^ row` has each value from 0 to 31 once, so no two elements have the same position. The
//! same applies to a fixed column.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Returns the index of an element in the tile.
fn place(row: u32, column: u32) -> usize {
    (row * 32 + (column ^ row)) as usize
}

/// # Safety
/// The requirements of `transpose_tile` apply.
#[kernel]
pub unsafe fn bank_swizzle(input: *const u32, output: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32 * 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    // SAFETY: the grid covers the matrix exactly. Each element has one writer, and the tile is read after the barrier.
    unsafe {
        *tile.add(place(y, x)) = *input.add(((top + y) * n + left + x) as usize);
        thread::sync_threads();
        *output.add(((left + y) * n + top + x) as usize) = *tile.add(place(x, y));
    }
}
