//! More elements per thread: fewer barriers for the same sum.
//!
//! From the first round of the tree on, half of the threads do nothing. If each thread adds up 4 elements before the
//! tree starts, the launch needs only a quarter of the blocks and of the barriers.
//!
//! Here a block handles 512 elements. Thread `t` sums the elements `first + t`, `first + t + 128`, `first + t + 256`
//! and `first + t + 384`. At present, the thread reads only the first of them. Each of the 4 elements needs a bounds
//! check. The goal counts each warp once for each barrier at which it arrives.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` elements, and `output` to one for each block. Blocks have 128 threads and handle 512 elements
/// each.
#[kernel]
pub unsafe fn reduce_more_a_thread(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, n) = (thread::thread_idx_x() as usize, n as usize);
    let first = thread::block_idx_x() as usize * 512;
    // SAFETY: the code below checks the bounds. A barrier separates a round's writes from the next round's reads.
    unsafe {
        // TODO: load 4 elements per thread.
        *tile.add(t) = if first + t < n { *input.add(first + t) } else { 0 };
        thread::sync_threads();
        let mut stride = 64;
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
