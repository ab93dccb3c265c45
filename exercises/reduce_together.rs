//! Contiguous threads: fewer divergent branches in the same tree.
//!
//! In the tree of the previous exercise, every second thread works in the first round, then every fourth, then every
//! eighth. Most warps have threads that work and threads that do not, so the branches diverge.
//!
//! Any pairs are correct if each element is added once. Change the pairs so that the working threads are the first
//! threads of the block. Then each warp either works or idles as a whole, until fewer than 32 threads work.

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
        // TODO: choose other pairs.
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
