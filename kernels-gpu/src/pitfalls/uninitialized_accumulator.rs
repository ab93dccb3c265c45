//! A sum in shared memory that does not begin at 0.
//!
//! Variables of shared memory have no initializers: a block finds what the block before it on that multiprocessor has
//! left. In the first launch after a start that often is 0, so the kernel passes its tests and fails in the middle of
//! a long run.
//!
//! The cure has one thread write the 0, and a barrier before the others add to it.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::{kernel, shared_array, thread};

pitfall! { uninitialized_accumulator: Init, 1 x 64 {
    lesson: "shared memory is not zero at the start of a block: one thread writes the 0, then comes a barrier",
    on_gpu: "right in the first launch, where the memory happens to be 0, and wrong later",
    arguments: [Input(64), Output(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn uninitialized_accumulator(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let sum = shared_array![u32; 1];
        atomic_fetch_add_u32_block(sum, Relaxed, *input.add(i));
        thread::sync_threads();
        if i == 0 {
            *output = *sum; // fault
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn uninitialized_accumulator_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let sum = shared_array![u32; 1];
        if i == 0 {
            *sum = 0;
        }
        thread::sync_threads();
        atomic_fetch_add_u32_block(sum, Relaxed, *input.add(i));
        thread::sync_threads();
        if i == 0 {
            *output = *sum;
        }
    }
}
