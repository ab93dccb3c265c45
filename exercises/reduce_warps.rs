//! The sum of a block with one barrier.
//!
//! With shuffles, each warp sums its 32 elements without shared memory. One word per warp then goes through shared
//! memory. After one barrier, the first warp sums these words in the same way.
//!
//! The function `warp_sum` exists. The kernel still uses the tree in shared memory, with a barrier in each of its 8
//! rounds. Rewrite it: lane 0 of each warp writes the sum of the warp to shared memory. After a barrier, the first warp
//! sums the 8 words. The goal counts each warp once for each barrier at which it arrives.

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
        // TODO: use shuffles, and one barrier.
        #[address_space(shared)]
        static mut TILE: MaybeUninit<[i32; 256]> = MaybeUninit::uninit();
        let tile = (&raw mut TILE).cast::<i32>();
        *tile.add(t) = value;
        thread::sync_threads();
        let mut stride = 128;
        while stride > 0 {
            if t < stride {
                *tile.add(t) += *tile.add(t + stride);
            }
            thread::sync_threads();
            stride /= 2;
        }
        if t == 0 {
            *output.add(thread::block_idx_x() as usize) = *tile;
        }
    }
}
