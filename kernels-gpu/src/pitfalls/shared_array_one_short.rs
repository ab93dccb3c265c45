//! A shared array that is one element too small for its block.
//!
//! The size of the block was raised, or an index counts from 1, and the array was forgotten. The last thread writes
//! what lies behind the array: another array of the block, whose values then change for no reason that its own code
//! shows, or nothing that is used, until somebody adds an array.
//!
//! The cure is one constant for the block and for the array, so that they cannot differ.

use cuda_std::{kernel, shared_array, thread};

pitfall! { shared_array_one_short: Memory, 1 x 64 {
    lesson: "an array of shared memory has an element for each thread that uses it: tie both to one constant",
    on_gpu: "nothing is noticed: the block has more shared memory than it asked for, or another array is overwritten",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn shared_array_one_short(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 63];
        *tile.add(i) = *input.add(i); // fault
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The cure.
#[kernel]
pub unsafe fn shared_array_one_short_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
