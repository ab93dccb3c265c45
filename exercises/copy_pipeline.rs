//! Pipeline: copy the next tile while the kernel uses this one.
//!
//! The kernel processes `turns` tiles of 64 elements (the `n` of the check), one per turn, and writes each tile in
//! reverse order. In each turn, the kernel starts the copies, waits for them, and uses the tile, so nothing else
//! happens while the copies are in flight. Each turn has two barriers.
//!
//! Alternate between *two* tiles in shared memory. Then the copies of the next turn are in flight while the kernel uses
//! the tile of this turn. `stage(turn)` is the tile of a turn. Start the copies of turn 0 before the loop. Then one
//! barrier per turn is enough. The goal counts each of the 2 warps once for each barrier at which it arrives.

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
    // TODO: start the next turn's copies before using this turn's tile.
    for turn in 0..turns {
        start(turn);
        wait::<0>();
        thread::sync_threads();
        // SAFETY: turn < turns and t < 64. Each thread writes separate elements.
        unsafe { *output.add(turn * 64 + t) = *stage(turn).add(63 - t) };
        thread::sync_threads();
    }
}
