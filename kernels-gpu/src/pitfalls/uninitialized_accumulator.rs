//! A sum in shared memory that does not start at 0.
//!
//! Shared-memory variables have no initializers: a block finds the values that an earlier block left on that
//! multiprocessor. In the first launch, these values are often 0, so the kernel passes its tests and fails in the
//! middle of a long run.
//!
//! In the fixed version, one thread writes the 0, and a barrier follows before other threads add to the sum.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::{address_space, kernel, thread};

pitfall! { uninitialized_accumulator: Init, 1 x 64 {
    lesson: "shared memory is uninitialized when a block starts: one thread writes the 0, and a barrier follows",
    on_gpu: "right in the first launch, where the memory happens to be 0, and wrong later",
    arguments: [Input(64), Output(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn uninitialized_accumulator(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut SUM: MaybeUninit<u32> = MaybeUninit::uninit();
    let sum = (&raw mut SUM).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        atomic_fetch_add_u32_block(sum, Relaxed, *input.add(i));
        thread::sync_threads();
        if i == 0 {
            *output = *sum; // fault
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn uninitialized_accumulator_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut SUM: MaybeUninit<u32> = MaybeUninit::uninit();
    let sum = (&raw mut SUM).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads. Thread 0 writes the sum before the first barrier, all threads
    // add to it with atomics, and thread 0 reads it after the second barrier.
    unsafe {
        let i = thread::thread_idx_x() as usize;
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
