//! A pointer that may be null and is not checked.
//!
//! Weights are optional, and a launch without weights passes a null pointer. The kernel was written when weights were
//! required.
//!
//! The fixed version checks for null. The whole grid takes the same branch, so the check costs nothing.

use cuda_std::{kernel, thread};

pitfall! { null_pointer: Memory, 1 x 32 {
    lesson: "compare a pointer that may be null with null before using it",
    on_gpu: "the launch fails with `an illegal memory access`, and the context is lost",
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

/// The fixed version.
#[kernel]
pub unsafe fn null_pointer_fixed(input: *const u32, weights: *const u32, output: *mut u32) {
    // SAFETY: i < 32, because the block has 32 threads. `weights` is read only if it is not null.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let weight = if weights.is_null() { 1 } else { *weights.add(i) };
        *output.add(i) = (*input.add(i)).wrapping_mul(weight);
    }
}
