//! A stencil whose first thread reads the neighbour before the start.
//!
//! Each element is compared with the one before it, and the first has none. An index of -1 is not negative for the
//! hardware: it is the four bytes before the buffer, which mostly are somebody else's.
//!
//! The cure gives the first element a neighbour that is agreed on, here 0.

use cuda_std::{kernel, thread};

pitfall! { halo_before_the_start: Memory, 1 x 64 {
    lesson: "the elements at the edges of a stencil have fewer neighbours: say what stands in for those that are missing",
    on_gpu: "the first element is wrong, and differs from run to run; an error where nothing lies before the buffer",
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

/// The cure.
#[kernel]
pub unsafe fn halo_before_the_start_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let before = if i > 0 { *input.add(i).sub(1) } else { 0 };
        *output.add(i) = (*input.add(i)).wrapping_sub(before);
    }
}
