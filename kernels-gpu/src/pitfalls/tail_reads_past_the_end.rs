//! A thread that processes two elements although the number of elements is odd.
//!
//! A kernel was changed to process two elements per thread, but it was tested only with even sizes. For an odd size,
//! the last thread adds a word past the end of the input.
//!
//! The fixed version checks each element against the bound.

use cuda_std::{kernel, thread};

pitfall! { tail_reads_past_the_end: Memory, 1 x 32 {
    lesson: "if a thread processes several elements, each element needs a bounds check",
    on_gpu: "the last sum is occasionally wrong, depending on what was allocated before",
    arguments: [Input(63), Output(32)],
    right: |input, at| input[2 * at].wrapping_add(if at < 31 { input[2 * at + 1] } else { 0 }),
} }

/// The length of the input: an odd number.
const ELEMENTS: usize = 63;

/// The faulty kernel.
#[kernel]
pub unsafe fn tail_reads_past_the_end(input: *const u32, output: *mut u32) {
    unsafe {
        let pair = 2 * thread::thread_idx_x() as usize;
        let mut sum = *input.add(pair);
        sum = sum.wrapping_add(*input.add(pair + 1)); // fault
        *output.add(pair / 2) = sum;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn tail_reads_past_the_end_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: pair <= 62, because the block has 32 threads, and the second element is read only if it is below
    // ELEMENTS.
    unsafe {
        let pair = 2 * thread::thread_idx_x() as usize;
        let mut sum = *input.add(pair);
        if pair + 1 < ELEMENTS {
            sum = sum.wrapping_add(*input.add(pair + 1));
        }
        *output.add(pair / 2) = sum;
    }
}
