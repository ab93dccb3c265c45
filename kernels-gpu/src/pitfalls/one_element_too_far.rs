//! A guard that lets one thread too many through: `<=` where `<` is meant.
//!
//! The grid has more threads than there are elements, and a guard keeps the others away. With `<=`, thread `n`
//! passes, reads one element behind the input, and writes one behind the output. Allocations are rounded up, so the
//! program seems to work for most sizes.
//!
//! The cure is `<`: the last element has the index `n - 1`.

use cuda_std::{kernel, thread};

pitfall! { one_element_too_far: Memory, 2 x 64 {
    lesson: "indices end at n - 1: a guard is `i < n`",
    on_gpu: "nothing is noticed as long as allocations are rounded up to more than is asked for",
    arguments: [Input(100), Output(100)],
    right: |input, at| input[at],
} }

/// The elements of input and output.
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

/// The cure.
#[kernel]
pub unsafe fn one_element_too_far_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
        if i < ELEMENTS {
            *output.add(i) = *input.add(i);
        }
    }
}
