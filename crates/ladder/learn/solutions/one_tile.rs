//! Hints:
//!
//! 1. Does the kernel need both tiles at the same time?
//! 2. Both calls can use one tile. The race sanitizer then reports the accesses that the second call must wait for.
//! 3. Put `thread::sync_threads();` between the two calls.
//!
//! With one tile, a block uses 25 KB, and 9 blocks fit into 228 KB. The limit of 64 warps allows 8 of them, so all warp
//! slots are in use. The extra barrier makes the warps of one block wait, but in the meantime, the other blocks of the
//! SM run.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of elements in a block's part.
const PART: usize = 6144;

/// # Safety
/// `a` and `b` point to `PART` elements for each block. Blocks have 256 threads.
#[kernel]
pub unsafe fn one_tile(a: *mut f32, b: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; PART]> = MaybeUninit::uninit();
    let first = thread::block_idx_x() as usize * PART;
    // SAFETY: `a` and `b` have `PART` elements for each block, and the tile has `PART` elements.
    unsafe {
        reverse(a.add(first), (&raw mut TILE).cast::<f32>());
        thread::sync_threads();
        reverse(b.add(first), (&raw mut TILE).cast::<f32>());
    }
}

/// Reverses the part of a block.
///
/// # Safety
/// `data` and `tile` point to `PART` elements. All 256 threads of the block call the function together.
#[inline(always)]
unsafe fn reverse(data: *mut f32, tile: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    for i in (t..PART).step_by(256) {
        // SAFETY: i < PART, and each thread writes separate elements of the tile.
        unsafe { *tile.add(i) = *data.add(i) };
    }
    thread::sync_threads();
    for i in (t..PART).step_by(256) {
        // SAFETY: i < PART, each thread writes separate elements, and the barrier orders the tile's writes before this
        // read.
        unsafe { *data.add(i) = *tile.add(PART - 1 - i) };
    }
}
