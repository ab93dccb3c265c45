//! Find and cure: copies of others.
//!
//! A thread that has waited for its copies knows nothing of those that others have started. Here each thread copies an
//! element and reads one that another thread copies.

use crate::copy_async::{Shared, commit, copy_one, wait};
use cuda_std::{prelude::*, shared_array};

/// # Safety
/// `input` and `output` point to 64 elements for each block of 64 threads.
#[kernel]
pub unsafe fn copies_of_others(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 64];
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
