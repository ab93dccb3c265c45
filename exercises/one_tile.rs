//! Occupancy: shared memory limits the blocks on a multiprocessor.
//!
//! A streaming multiprocessor (SM) of compute capability 9.0 holds up to 64 warps. While one warp waits for memory, the
//! SM runs another, so more resident warps hide more latency. A block starts on an SM only if the SM has enough free
//! registers and shared memory for the whole block.
//!
//! An SM has 228 KB of shared memory. A block uses the bytes of its tiles, plus 1 KB that the system reserves. This
//! kernel reverses each part of 6144 elements of `a` and of `b`, in blocks of 8 warps. It has a 24 KB tile for each
//! array, so an SM holds only 4 blocks, which are half of its warps.
//!
//! Use less shared memory. The result must stay the same.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of elements in a block's part.
const PART: usize = 6144;

/// # Safety
/// `a` and `b` point to `PART` elements for each block. Blocks have 256 threads.
#[kernel]
pub unsafe fn one_tile(a: *mut f32, b: *mut f32) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; PART]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; PART]> = MaybeUninit::uninit();
    let first = thread::block_idx_x() as usize * PART;
    // TODO: use less shared memory.
    // SAFETY: `a` and `b` have `PART` elements for each block, and each tile has `PART` elements.
    unsafe {
        reverse(a.add(first), (&raw mut TILE_A).cast::<f32>());
        reverse(b.add(first), (&raw mut TILE_B).cast::<f32>());
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
