//! Hints:
//!
//! 1. Compute the index of the warp in the block, and the lane, from `t`. Which lane of a warp writes, and to which
//!    word?
//! 2. All 32 lanes of the first warp must call `warp_sum`. What do the lanes without a word add?
//! 3. `if warp == 0 { let sum = warp_sum(if lane < 8 { *tile.add(lane) } else { 0 }); … }`
//!
//! The condition `warp == 0` is the same in all lanes of a warp, so these lanes may shuffle inside the `if`. With the
//! tree, the 8 warps of a block arrived at 9 barriers; now they arrive at one.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*, warp};

/// Returns to each lane the sum of the values of the warp's lanes.
///
/// # Safety
/// The caller must ensure that all lanes of the warp call the function together.
unsafe fn warp_sum(value: i32) -> i32 {
    let mut sum = value;
    let mut bits = 16;
    while bits > 0 {
        // SAFETY: all lanes call the function together.
        sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, bits, 32) }.0;
        bits /= 2;
    }
    sum
}

/// # Safety
/// `input` points to `n` elements, and `output` to one for each block. The grid has blocks of 256 threads, and at least
/// one thread for each element.
#[kernel]
pub unsafe fn reduce_warps(input: *const i32, output: *mut i32, n: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the code below checks the bounds. All lanes of a warp take the same branches to their shuffles.
    unsafe {
        let value = if i < n as usize { *input.add(i) } else { 0 };
        #[address_space(shared)]
        static mut TILE: MaybeUninit<[i32; 8]> = MaybeUninit::uninit();
        let tile = (&raw mut TILE).cast::<i32>();
        let (warp, lane) = (t / 32, t % 32);
        let sum = warp_sum(value);
        if lane == 0 {
            *tile.add(warp) = sum;
        }
        thread::sync_threads();
        if warp == 0 {
            let sum = warp_sum(if lane < 8 { *tile.add(lane) } else { 0 });
            if lane == 0 {
                *output.add(thread::block_idx_x() as usize) = sum;
            }
        }
    }
}
