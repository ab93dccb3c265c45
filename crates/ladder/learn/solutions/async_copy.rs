//! Hints:
//!
//! 1. Which two steps are missing between the start of the copy and the read?
//! 2. First close the group that contains the copy, then wait for the group.
//! 3. `commit();` and `wait::<0>();`
//!
//! Every thread waits only for the copies that it started. Here that is enough, because each thread reads only the
//! element that it copied.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to 64 elements for each block of 64 threads.
#[kernel]
pub unsafe fn async_copy(input: *const f32, output: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the arrays have an element for each copy, and each element of the tile is read only after its copy has
    // arrived.
    unsafe {
        copy_one(Shared::of(tile.add(t)), input.add(i), true);
        commit();
        wait::<0>();
        *output.add(i) = 2.0 * *tile.add(t);
    }
}
