//! A pipeline: copy the next tile while this one is used.
//!
//! The kernel goes through `turns` tiles of 64 elements and writes each turned around. In every turn it starts the copies,
//! waits for them, and uses them: nothing happens while they are on their way. And it takes two barriers a turn.
//!
//! With *two* tiles in shared memory that take turns, the copies for the next turn are on their way while this turn's tile is
//! used. `stage(turn)` is the tile of a turn. Begin with the copies of turn 0. Then, in each turn: wait for this turn's
//! copies; a barrier; start the copies of the next turn, if there is one; use this turn's tile. One barrier a turn is enough.

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
    // TODO: start the next turn's copies before this turn's tile is used.
    for turn in 0..turns {
        start(turn);
        wait::<0>();
        thread::sync_threads();
        // SAFETY: in bounds; each element is one thread's.
        unsafe { *output.add(turn * 64 + t) = *stage(turn).add(63 - t) };
        thread::sync_threads();
    }
}
