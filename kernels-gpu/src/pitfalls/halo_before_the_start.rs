//! A stencil whose first thread reads a neighbor before the start of the input.
//!
//! Each element is compared with the previous element, but the first element has no predecessor. The index -1 addresses
//! the four bytes before the buffer, which usually belong to another allocation.
//!
//! The fixed version defines a value for the missing neighbor, here 0.

use cuda_std::{kernel, thread};

pitfall! { halo_before_the_start: Memory, 1 x 64 {
    lesson: "elements at the edges of a stencil have fewer neighbors: define a value for the missing neighbors",
    on_gpu: "the first element is wrong and differs between runs; an error if no memory is mapped before the buffer",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[at].wrapping_sub(if at > 0 { input[at - 1] } else { 0 }),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn halo_before_the_start(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let before = *input.add(i).sub(1); // fault
        *output.add(i) = (*input.add(i)).wrapping_sub(before);
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn halo_before_the_start_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 64, because the block has 64 threads, and the previous element is read only for i > 0.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let before = if i > 0 { *input.add(i).sub(1) } else { 0 };
        *output.add(i) = (*input.add(i)).wrapping_sub(before);
    }
}
