//! The block's sum with one barrier.
//!
//! With shuffles, each warp adds up its 32 elements without shared memory. One word for each warp then goes through shared
//! memory, and after one barrier the first warp adds up those words in the same way.
//!
//! `warp_sum` is there. The kernel is the tree in shared memory, with a barrier in each of its 8 rounds. Rewrite it: each
//! warp's sum goes into `tile[warp]`, written by lane 0; then a barrier; then the first warp adds up the 8 words.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*, warp};

/// The sum of the values of a warp's lanes, in each of them.
///
/// # Safety
/// All lanes of the warp call it together.
unsafe fn warp_sum(value: i32) -> i32 {
    let mut sum = value;
    let mut bits = 16;
    while bits > 0 {
        // SAFETY: all lanes are here.
        sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, bits, 32) }.0;
        bits /= 2;
    }
    sum
}

/// # Safety
/// `input` points to `n` elements, `output` to one for each block. The grid has blocks of 256 threads, and a thread for
/// each element, or more.
#[kernel]
pub unsafe fn reduce_warps(input: *const i32, output: *mut i32, n: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds, by the guards; all lanes of a warp take the same way to where they shuffle.
    unsafe {
        let own = if i < n as usize { *input.add(i) } else { 0 };
        // TODO: shuffles, and one barrier.
        #[address_space(shared)]
        static mut TILE: MaybeUninit<[i32; 256]> = MaybeUninit::uninit();
        let tile = (&raw mut TILE).cast::<i32>();
        *tile.add(t) = own;
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
