//! Hints:
//!
//! 1. `let mut stride = 1; while stride < 128 { …; stride *= 2; }`
//! 2. Only some threads add: `if t % (2 * stride) == 0 { *tile.add(t) += *tile.add(t + stride); }`
//! 3. A round reads what the round before has written, so every round needs a barrier, for all threads.
//!
//! In every round half of the working threads stop working, and they are spread over all warps: all four warps run until
//! the fifth round. The next exercise does better.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` elements, `output` to one for each block. The grid has blocks of 128 threads, and a thread for
/// each element, or more.
#[kernel]
pub unsafe fn reduce_tree(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds, by the guards; in a round, no element that is read is written by another thread.
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
