//! A bounds check that admits one thread too many: `<=` instead of `<`.
//!
//! The grid has more threads than there are elements, and a bounds check excludes the surplus threads. With `<=`,
//! thread `n` passes the check, reads one element past the end of the input, and writes one element past the end of the
//! output. Allocations are rounded up, so the program seems to work for most sizes.
//!
//! The fixed version uses `<`: the last element has the index `n - 1`.

use cuda_std::{kernel, thread};

pitfall! { one_element_too_far: Memory, 2 x 64 {
    lesson: "indices end at n - 1: the bounds check is `i < n`",
    on_gpu: "no effect as long as allocations are rounded up to more than the requested size",
    arguments: [Input(100), Output(100)],
    right: |input, at| input[at],
} }

/// The length of the input and of the output.
const ELEMENTS: usize = 100;

/// The faulty kernel.
#[kernel]
pub unsafe fn one_element_too_far(input: *const u32, output: *mut u32) {
    unsafe {
        let i = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
        if i <= ELEMENTS {
            *output.add(i) = *input.add(i); // fault
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn one_element_too_far_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < ELEMENTS, the length of both arrays.
    unsafe {
        let i = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
        if i < ELEMENTS {
            *output.add(i) = *input.add(i);
        }
    }
}
