//! Hints:
//!
//! 1. The rounds are a loop: `stride` starts with 1 and doubles while it is below 128. Which threads work in a round?
//! 2. A round reads values that the previous round has written. What must all threads do between two rounds?
//! 3. `if t % (2 * stride) == 0 { *tile.add(t) += *tile.add(t + stride); }`, and after the `if` a barrier.
//!
//! In each round, half of the working threads stop, but all four warps have working threads until the fifth round. The
//! next exercise improves this.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` elements, and `output` to one for each block. The grid has blocks of 128 threads, and at least
/// one thread for each element.
#[kernel]
pub unsafe fn reduce_tree(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the code below checks the bounds. A barrier separates a round's writes from the next round's reads.
    unsafe {
        *tile.add(t) = if i < n as usize { *input.add(i) } else { 0 };
        thread::sync_threads();
        let mut stride = 1;
        while stride < 128 {
            if t % (2 * stride) == 0 {
                *tile.add(t) += *tile.add(t + stride);
            }
            thread::sync_threads();
            stride *= 2;
        }
        if t == 0 {
            *output.add(thread::block_idx_x() as usize) = *tile;
        }
    }
}
