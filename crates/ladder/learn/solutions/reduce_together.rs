//! Hints:
//!
//! 1. `stride` begins with 64 and is halved: 64, 32, 16, 8, 4, 2, 1.
//! 2. The threads that work are `t < stride`.
//! 3. `let mut stride = 64; while stride > 0 { if t < stride { … } thread::sync_threads(); stride /= 2; }`
//!
//! Branches split one warp, in the five rounds with less than 32 working threads, and once more where thread 0 writes. The
//! accesses are better, too: neighbouring threads use neighbouring words of the tile, which no two banks have to fight over.

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
