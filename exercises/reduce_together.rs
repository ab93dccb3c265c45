//! The same tree with working threads side by side: bring the branches that split warps down.
//!
//! In the tree before, the threads that work are every second, every fourth, every eighth. Each warp has some that work and
//! some that do not, so each branch splits it.
//!
//! Any pairs will do, as long as every element is added once. Begin with the greatest distance: thread `t` of the first 64
//! adds element `t + 64`, then the first 32 add `t + 32`, and so on down to 1. Whole warps work or rest, until less than a
//! warp works.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// As for `reduce_tree`.
#[kernel]
pub unsafe fn reduce_together(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds, by the guards; in a round, no element that is read is written by another thread.
    unsafe {
        *tile.add(t) = if i < n as usize { *input.add(i) } else { 0 };
        thread::sync_threads();
        // TODO: other pairs.
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
