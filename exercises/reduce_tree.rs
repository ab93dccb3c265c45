//! Reduction tree: add up the elements of a block in rounds.
//!
//! To add 128 numbers with 128 threads, add pairs: first 64 threads add two numbers each, then 32 threads, then 16.
//! After 7 rounds, one number is left. The distance between the two numbers of a pair is 1 in the first round, then 2,
//! 4, and so on.
//!
//! The tile has the elements of the block, and 0 in place of missing elements. In the round with distance `stride`,
//! each thread `t` that is a multiple of `2 * stride` adds element `t + stride` to element `t`. Write the rounds.
//! Thread 0 then writes the sum of the block, which is the first element of the tile.

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
        // TODO: write the rounds.
        if t == 0 {
            *output.add(thread::block_idx_x() as usize) = *tile;
        }
    }
}
