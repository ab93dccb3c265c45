//! Hints:
//!
//! 1. Before the loop: `start(0);`. In it: `wait::<0>(); thread::sync_threads(); if turn + 1 < turns { start(turn + 1); }`
//! 2. Then the line that writes the output, from `stage(turn)`. The second barrier is not needed any more.
//!
//! Behind the barrier of a turn all threads are done with the tile of the turn before: it is free to be filled. Everything
//! that hides the latency of memory is built like this, with two stages or with more.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `turns * 64` elements. There is one block of 64 threads.
#[kernel]
pub unsafe fn copy_pipeline(input: *const f32, output: *mut f32, turns: u32) {
    #[address_space(shared)]
    static mut TILES: MaybeUninit<[f32; 128]> = MaybeUninit::uninit();
    let tiles = (&raw mut TILES).cast::<f32>();
    let (t, turns) = (thread::thread_idx_x() as usize, turns as usize);
    // The tile of a turn: the first half, the second half, the first half, …
    let stage = |turn: usize| tiles.wrapping_add(turn % 2 * 64);
    // Starts this thread's copy for a turn.
    let start = |turn: usize| {
        // SAFETY: in bounds; nobody uses the tile of this turn before the copy has been waited for.
        unsafe { copy_one(Shared::of(stage(turn).add(t)), input.add(turn * 64 + t), true) };
        commit();
    };
    if turns > 0 {
        start(0);
    }
    for turn in 0..turns {
        wait::<0>();
        thread::sync_threads();
        if turn + 1 < turns {
            start(turn + 1);
        }
        // SAFETY: in bounds; each element is one thread's.
        unsafe { *output.add(turn * 64 + t) = *stage(turn).add(63 - t) };
    }
}
