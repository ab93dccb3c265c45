//! Hints:
//!
//! 1. All threads have to be behind their wait before anybody reads.
//! 2. `thread::sync_threads();` behind `wait::<0>();`
//!
//! The barrier alone would not do: a thread comes to it as soon as its copies have *started*. And the wait alone says nothing
//! of others. First wait, then the barrier.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to 64 elements for each block of 64 threads.
#[kernel]
pub unsafe fn copies_of_others(input: *const f32, output: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds; an element is read when its copy has arrived for all threads.
    unsafe {
        copy_one(Shared::of(tile.add(t)), input.add(i), true);
        commit();
        wait::<0>();
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - t);
    }
}
