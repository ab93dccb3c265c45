//! A kernel that adds to an output that was never set to zero.
//!
//! The kernel uses `+=` on freshly allocated device memory. An allocation has no defined contents: pages are zero only
//! when the driver first gets them from the system. A program that allocates once finds zeros, but a program that
//! reuses memory does not.
//!
//! The fixed version writes with `=`. (Alternatively, the host zeroes the buffer first.)

use cuda_std::{kernel, thread};

pitfall! { output_read_first: Init, 1 x 64 {
    lesson: "an allocation is uninitialized: a kernel that adds to its output needs a zeroed output",
    on_gpu: "right in a fresh process, whose memory is zero; wrong once memory is reused",
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

/// The fixed version.
#[kernel]
pub unsafe fn output_read_first_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 64, because the block has 64 threads. Each thread writes one element of `output`, and no thread reads
    // `output`.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *input.add(i);
    }
}
