//! Hints:
//!
//! 1. The race is between a read of one turn and a write of the next one.
//! 2. Put a barrier at the end of the loop's body.
//!
//! Two tiles that take turns would save the second barrier: a warp can be one turn ahead then, and no more. It costs twice
//! the shared memory.

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
        thread::sync_threads();
    }
}
