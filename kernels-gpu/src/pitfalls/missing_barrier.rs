//! A neighbour's element that is read before the barrier.
//!
//! Each thread writes an element of shared memory and reads one that another thread wrote, with nothing between.
//! Within a warp it seems to work; the other warp may not have written yet.
//!
//! The cure is a barrier between the last write and the first read.

use cuda_std::{kernel, shared_array, thread};

pitfall! { missing_barrier: Race, 1 x 64 {
    lesson: "what another thread of the block writes to shared memory may be read after a barrier, and not before",
    on_gpu: "wrong values wherever the other warp is later; with small blocks it may look right for years",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn missing_barrier(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i); // other
        *output.add(i) = *tile.add(63 - i); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn missing_barrier_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
