//! Two threads that write different values to the same element.
//!
//! The output was made half as large, the index was halved with it, and the threads were not. Of two writes to the
//! same element one stays, and nothing says which.
//!
//! The cure has one thread for each element.

use cuda_std::{kernel, thread};

pitfall! { two_writers: Race, 1 x 64 {
    lesson: "an element has one writer: of two that write different values, nobody knows which stays",
    on_gpu: "the same in each run on one GPU, something else on the next",
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

/// The cure.
#[kernel]
pub unsafe fn two_writers_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        if i % 2 == 0 {
            *output.add(i / 2) = *input.add(i);
        }
    }
}
