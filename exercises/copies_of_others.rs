//! Find and cure: copies of others.
//!
//! A thread that has waited for its copies knows nothing of those that others have started. Here each thread copies an
//! element and reads one that another thread copies.

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
        // TODO: something is missing.
        wait::<0>();
        *output.add(i) = *tile.add(63 - t);
    }
}
