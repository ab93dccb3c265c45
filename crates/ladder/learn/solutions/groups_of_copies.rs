//! Hints:
//!
//! 1. For each wait: which group does the next line need, and how many groups did the thread start after that group?
//! 2. The first wait is correct, because one newer group may be in flight. No newer group follows the second group.
//! 3. `wait::<0>();` before the second element is read.
//!
//! Waiting for too many groups is correct but slow. Waiting for too few groups is a race. This bug often occurs in the
//! last iteration of a loop, which starts no new group.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to 64 elements, and `output` to 32. There is one block of 32 threads.
#[kernel]
pub unsafe fn groups_of_copies(input: *const f32, output: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the arrays have an element for each copy, and each element of the tile is read only after its copy has
    // arrived.
    unsafe {
        copy_one(Shared::of(tile.add(t)), input.add(t), true);
        commit();
        copy_one(Shared::of(tile.add(t + 32)), input.add(t + 32), true);
        commit();
        wait::<1>();
        let first = *tile.add(t);
        wait::<0>();
        *output.add(t) = first * *tile.add(t + 32);
    }
}
