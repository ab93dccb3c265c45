//! Threads that return early, and do not fill their part of the tile.
//!
//! `if (i >= n) return;` is the first line of many kernels, and right in those without barriers. Later somebody adds
//! a tile and a barrier. On the GPUs of today the barrier does not wait for threads that have ended, although the
//! programming guide does not promise it; but what they had to write into the tile is missing.
//!
//! The cure keeps all threads until the last barrier. Those without an element fill their place with the neutral one.

use cuda_std::{kernel, shared_array, thread};

pitfall! { early_return: Init, 1 x 64 {
    lesson: "no thread returns before the last barrier: those without an element fill their place of the tile, and come along",
    on_gpu: "wrong sums, made of what another block left in shared memory",
    arguments: [Input(40), Output(40)],
    right: |input, at| input[at].wrapping_add(if at > 23 { input[63 - at] } else { 0 }),
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
        thread::sync_threads();
        *output.add(i) = (*tile.add(i)).wrapping_add(*tile.add(63 - i)); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn early_return_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = if i < 40 { *input.add(i) } else { 0 };
        thread::sync_threads();
        if i < 40 {
            *output.add(i) = (*tile.add(i)).wrapping_add(*tile.add(63 - i));
        }
    }
}
