//! A pointer that may be null, and is not asked.
//!
//! Weights are optional, and a launch without them passes a null pointer. The kernel was written when there always
//! were some.
//!
//! The cure asks first. The whole grid takes the same way, so the question costs nothing.

use cuda_std::{kernel, thread};

pitfall! { null_pointer: Memory, 1 x 32 {
    lesson: "a pointer that may be null is compared with null before it is used",
    on_gpu: "the launch ends with an error, `an illegal memory access`, and the context with it",
    arguments: [Input(32), Null, Output(32)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn null_pointer(input: *const u32, weights: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let weight = *weights.add(i); // fault
        *output.add(i) = (*input.add(i)).wrapping_mul(weight);
    }
}

/// The cure.
#[kernel]
pub unsafe fn null_pointer_cured(input: *const u32, weights: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let weight = if weights.is_null() { 1 } else { *weights.add(i) };
        *output.add(i) = (*input.add(i)).wrapping_mul(weight);
    }
}
