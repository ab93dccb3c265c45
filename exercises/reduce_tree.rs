//! A tree of sums: add up a block's elements in rounds.
//!
//! To add up 128 numbers with 128 threads, add pairs: 64 threads add two numbers each, then 32, then 16, and after 7 rounds
//! one number is left. In round 1 the distance between the two is 1, in round 2 it is 2, then 4, and so on.
//!
//! The tile has the block's elements, and 0 where there are none. In the round of distance `stride`, the threads whose number
//! is a multiple of `2 * stride` add the element at `t + stride` to that at `t`. Write the rounds. Thread 0 then writes the
//! block's sum, which is the first element of the tile.

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
        // TODO: the rounds.
        if t == 0 {
            *output.add(thread::block_idx_x() as usize) = *tile;
        }
    }
}
