//! Hints:
//!
//! 1. If the first 64 threads work in the first round, which element can thread `t` add to element `t`?
//! 2. The distance starts with 64 and is halved in each round. Compare `t` with the distance to find the working
//!    threads.
//! 3. `let mut stride = 64; while stride > 0 { if t < stride { … } thread::sync_threads(); stride /= 2; }`
//!
//! One warp of each block diverges, in the five rounds with fewer than 32 working threads, and once more where thread 0
//! writes. The accesses to shared memory also improve: neighboring threads access neighboring words, so there are no
//! bank conflicts.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// The requirements of `reduce_tree` apply.
#[kernel]
pub unsafe fn reduce_together(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the code below checks the bounds. A barrier separates a round's writes from the next round's reads.
    unsafe {
        *tile.add(t) = if i < n as usize { *input.add(i) } else { 0 };
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
