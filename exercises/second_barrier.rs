//! Find and cure: a tile that is used again too early.
//!
//! A loop that fills a tile, reads it and fills it again needs two barriers a turn. The first one is between writing and
//! reading. The second one is between reading and the next turn's writing: without it, a fast warp overwrites what a slow
//! one has yet to read.
//!
//! Here one block goes through `turns` tiles of 128 words and turns each around. Only the first barrier is there.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `turns * 128` words. There is one block of 128 threads.
#[kernel]
pub unsafe fn second_barrier(input: *const u32, output: *mut u32, turns: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    for turn in 0..turns as usize {
        // SAFETY: in bounds; each thread writes an element of its own.
        unsafe {
            *tile.add(t) = *input.add(turn * 128 + t);
            thread::sync_threads();
            *output.add(turn * 128 + t) = *tile.add(127 - t);
        }
        // TODO: something is missing.
    }
}
