//! A 16-byte load from an address that is not a multiple of 16.
//!
//! Four-word loads make a kernel faster, and allocations are aligned to 256 bytes. But here the data start after a
//! header of one word. On a CPU, a misaligned load is only slower; on a GPU, it is an error.
//!
//! The fixed version loads single words, because the alignment is not known. (Alternatively, the header can be padded
//! to 16 bytes.)

use cuda_std::{kernel, thread};

/// Four words, aligned for a 16-byte load (PTX ISA §5.4.2, "Vectors").
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct U32x4([u32; 4]);

pitfall! { misaligned_vector: Memory, 1 x 16 {
    lesson: "the address of a vector load must be a multiple of its size: a slice of a buffer may not be aligned",
    on_gpu: "the launch fails with `misaligned address`",
    arguments: [Input(65), Output(64)],
    right: |input, at| input[1 + at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn misaligned_vector(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let data = input.add(1);
        let vector = *data.add(4 * i).cast::<U32x4>(); // fault
        for (k, value) in vector.0.into_iter().enumerate() {
            *output.add(4 * i + k) = value;
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn misaligned_vector_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 16, because the block has 16 threads: k < 64, and the data have 64 words after the header.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let data = input.add(1);
        for k in 4 * i..4 * i + 4 {
            *output.add(k) = *data.add(k);
        }
    }
}
