//! Swizzle: no bank conflicts without more memory.
//!
//! Padding uses memory, and rows with an odd number of words break the alignment of wide accesses. A *swizzle* keeps
//! rows of 32 words and changes the position of an element within its row.
//!
//! The position must depend on the row and on the column. The 32 elements of a row need 32 different positions. The 32
//! elements of a column need 32 different banks as well, so that a warp can read the column without conflicts. Change
//! the function `place`, which both accesses to the tile use.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// Returns the index of an element in the tile.
fn place(row: u32, column: u32) -> usize {
    // TODO: return another position in the same row.
    (row * 32 + column) as usize
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
