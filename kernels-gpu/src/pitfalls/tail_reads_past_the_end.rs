//! A thread that takes two elements, and an odd number of them.
//!
//! A kernel was made faster by giving each thread two elements, and tested with even sizes. The last thread of an odd
//! size adds whatever lies behind the input.
//!
//! The cure asks for each element whether it exists.

use cuda_std::{kernel, thread};

pitfall! { tail_reads_past_the_end: Memory, 1 x 32 {
    lesson: "where a thread takes several elements, each needs a guard, for the last thread has fewer",
    on_gpu: "the last sum is wrong now and then: what is read depends on what was allocated before",
    arguments: [Input(63), Output(32)],
    right: |input, at| input[2 * at].wrapping_add(if at < 31 { input[2 * at + 1] } else { 0 }),
} }

/// The elements of the input, an odd number.
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

/// The cure.
#[kernel]
pub unsafe fn tail_reads_past_the_end_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let pair = 2 * thread::thread_idx_x() as usize;
        let mut sum = *input.add(pair);
        if pair + 1 < ELEMENTS {
            sum = sum.wrapping_add(*input.add(pair + 1));
        }
        *output.add(pair / 2) = sum;
    }
}
