//! Threads that return early, before a barrier that the others wait at.
//!
//! `if (i >= n) return;` is the first line of many kernels, and right in those without barriers. Later somebody adds
//! a tile and a barrier, and the threads beyond the end are gone before it.
//!
//! The cure keeps all threads until the last barrier, and guards the accesses.

use cuda_std::{kernel, shared_array, thread};

pitfall! { early_return: Sync, 1 x 64 {
    lesson: "no thread returns before the last barrier: those without an element skip the work and come along",
    on_gpu: "undefined by the programming guide; on today's GPUs threads that have ended are not waited for",
    arguments: [Input(40), Output(40)],
    right: |input, at| input[39 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn early_return(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        if i >= 40 {
            return;
        }
        *tile.add(i) = *input.add(i);
        thread::sync_threads(); // fault
        *output.add(i) = *tile.add(39 - i);
    }
}

/// The cure.
#[kernel]
pub unsafe fn early_return_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        if i < 40 {
            *tile.add(i) = *input.add(i);
        }
        thread::sync_threads();
        if thread::thread_idx_x() < 40 {
            *output.add(i) = *tile.add(39 - i);
        }
    }
}
