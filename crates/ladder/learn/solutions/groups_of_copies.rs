//! Hints:
//!
//! 1. How many groups were started after the one that is needed?
//! 2. For the first group one, for the second none: `wait::<1>()` and `wait::<0>()`.
//!
//! Waiting for too much is never wrong, only slow. Waiting for too little is a race, and it is made most often in the last
//! turn of a loop, where no new group has been started.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to 64 elements, `output` to 32. There is one block of 32 threads.
#[kernel]
pub unsafe fn groups_of_copies(input: *const f32, output: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: in bounds; an element is read when its copy has arrived.
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
