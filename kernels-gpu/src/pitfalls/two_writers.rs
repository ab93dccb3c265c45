//! Two threads that write different values to the same element.
//!
//! The size of the output and the index were halved, but the number of threads stayed the same. If two threads write
//! the same element, one of the two values persists, but it is undefined which one.
//!
//! The fixed version has one writing thread for each element.

use cuda_std::{kernel, thread};

pitfall! { two_writers: Race, 1 x 64 {
    lesson: "an element needs a single writer: of two different values, it is undefined which one persists",
    on_gpu: "the same in each run on one GPU, but different on another GPU",
    arguments: [Input(64), Output(32)],
    right: |input, at| input[2 * at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn two_writers(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i / 2) = *input.add(i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn two_writers_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 64, because the block has 64 threads. Only threads with an even index write, so every element of
    // `output` has one writer.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        if i.is_multiple_of(2) {
            *output.add(i / 2) = *input.add(i);
        }
    }
}
