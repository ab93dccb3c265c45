//! A 16-byte load from an address that is no multiple of 16.
//!
//! Loads of four words make a kernel faster, and allocations are aligned to 256 bytes. But here the data begin behind
//! a header of one word. On a CPU such a load is slower, on a GPU it is an error.
//!
//! The cure loads words where the alignment is not known. (Or pads the header to 16 bytes.)

use cuda_std::{kernel, thread};

use crate::wide::Wide;

pitfall! { misaligned_vector: Memory, 1 x 16 {
    lesson: "a vector load needs an address that is a multiple of its size: a slice of a buffer may not have one",
    on_gpu: "the launch ends with an error, `misaligned address`",
    arguments: [Input(65), Output(64)],
    right: |input, at| input[1 + at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn misaligned_vector(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let data = input.add(1);
        let four = *data.add(4 * i).cast::<Wide<u32, 4>>(); // fault
        for (k, value) in four.0.into_iter().enumerate() {
            *output.add(4 * i + k) = value;
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn misaligned_vector_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let data = input.add(1);
        for k in 4 * i..4 * i + 4 {
            *output.add(k) = *data.add(k);
        }
    }
}
