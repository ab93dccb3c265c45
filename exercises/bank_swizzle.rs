//! A swizzle: no conflicts, and not one word more.
//!
//! Padding takes memory, and it breaks the alignment that wide accesses need. A *swizzle* keeps rows of 32 words and changes
//! where in its row an element lies: element (row, column) goes to place `column ^ row` of the row. In a column, `row` differs
//! from lane to lane, so `column ^ row` does, too: 32 different banks. In a row, `column` differs, with the same effect.
//!
//! Change `place`, which both accesses to the tile use.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Where the tile has an element.
fn place(row: u32, column: u32) -> usize {
    // TODO: another place in the same row.
    (row * 32 + column) as usize
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
