//! Asynchronous copies: start, and wait.
//!
//! From compute capability 8.0 on, a thread can have words copied from global to shared memory by the hardware, past its
//! registers, and do something else meanwhile. `copy_one(to, from, true)` starts a copy of one float; `commit()` ends a
//! group of copies; `wait::<0>()` waits until all groups of this thread have arrived.
//!
//! Here every thread copies one element and reads it, without waiting: the copy may not have arrived. Wait for it.
//!
//! `Shared::of(pointer)` is what a copy takes for a place in shared memory.

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
    // SAFETY: in bounds; an element is read when its copy has arrived.
    unsafe {
        copy_one(Shared::of(tile.add(t)), input.add(i), true);
        // TODO: wait for it.
        *output.add(i) = 2.0 * *tile.add(t);
    }
}
