//! A kernel that adds to an output that nobody has set to zero.
//!
//! `+=` into fresh memory of the device: an allocation has no contents, and the driver hands out pages that are zero
//! only when it gets them from the system anew. A program that allocates once finds zeros, one that reuses memory
//! does not.
//!
//! The cure writes with `=`. (Or the host zeroes the buffer first.)

use cuda_std::{kernel, thread};

pitfall! { output_read_first: Init, 1 x 64 {
    lesson: "an allocation has no contents: a kernel that adds to its output needs one that was set to zero",
    on_gpu: "right in a fresh process, whose memory is zero; wrong once memory is used again",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn output_read_first(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = (*output.add(i)).wrapping_add(*input.add(i)); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn output_read_first_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *input.add(i);
    }
}
