//! Asynchronous copies: start a copy, and wait for it.
//!
//! Since compute capability 8.0, the hardware can copy words from global to shared memory without using registers,
//! while the thread does other work. `copy_one(to, from, true)` starts the copy of one float. `commit()` closes a group
//! of copies. `wait::<0>()` waits until all groups of this thread have arrived.
//!
//! Here every thread copies one element and reads it without waiting, so the copy may not have arrived. Add the wait.
//! `Shared::of(pointer)` converts a pointer to the shared-memory address that a copy needs.

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
        // TODO: wait for the copy.
        *output.add(i) = 2.0 * *tile.add(t);
    }
}
