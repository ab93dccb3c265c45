//! Hints:
//!
//! 1. At which point in a turn have all threads finished with the previous turn's tile, so that a new copy may fill it?
//! 2. The order in a turn is: wait for this turn's copies, barrier, start the next turn's copies if there is a next
//!    turn, use the tile.
//! 3. `wait::<0>(); thread::sync_threads(); if turn + 1 < turns { start(turn + 1); }`
//!
//! After the barrier of a turn, all threads have finished with the previous turn's tile, so its memory is free. All
//! pipelines that hide memory latency have this form, with two or more stages.

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
        // SAFETY: turn < turns, and no thread accesses the tile of a turn before its copy has arrived.
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
        // SAFETY: turn < turns and t < 64. Each thread writes separate elements.
        unsafe { *output.add(turn * 64 + t) = *stage(turn).add(63 - t) };
    }
}
