//! A named barrier that waits for more threads than the block has.
//!
//! `bar.sync 1, 96` waits for 96 threads, three warps. The block was made smaller, or a warp went to another task,
//! and the number in the barrier stayed. The third warp never comes.
//!
//! The cure counts the threads that really come by.

use cuda_std::{kernel, shared_array, thread};

pitfall! { barrier_count_too_high: Sync, 1 x 64 {
    lesson: "a named barrier has a count: the number of threads that come, a multiple of 32",
    on_gpu: "the block stops for ever, and the launch with it",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn barrier_count_too_high(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i);
        ptx!("bar.sync 1, 96;"); // fault
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The cure.
#[kernel]
pub unsafe fn barrier_count_too_high_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i);
        ptx!("bar.sync 1, 64;");
        *output.add(i) = *tile.add(63 - i);
    }
}
