//! The last block adds up what the others have written, without a fence.
//!
//! Each block writes its part and counts itself; the one that is last by that count adds up all parts. But the count
//! says only that the others have counted: the write before it may become visible later than the count.
//!
//! The cure is a fence between the write and the count, and another between the count and the reads. CUDA's sample
//! `threadFenceReduction` is named after it.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::{kernel, thread};

pitfall! { forgotten_fence: Race, 4 x 1 {
    lesson: "a counter that says that data are there needs a fence before it, and one behind it where the data are read",
    on_gpu: "right nearly always; wrong where a write takes longer than the count",
    arguments: [Input(32), Unset(4), Zeros(1), Output(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn forgotten_fence(input: *const u32, parts: *mut u32, count: *mut u32, output: *mut u32) {
    unsafe {
        let block = thread::block_idx_x() as usize;
        let mut sum = 0u32;
        for i in 8 * block..8 * block + 8 {
            sum = sum.wrapping_add(*input.add(i));
        }
        *parts.add(block) = sum; // other
        if atomic_fetch_add_u32_device(count, Relaxed, 1) == 3 {
            let mut all = 0u32;
            for other in 0..4 {
                all = all.wrapping_add(*parts.add(other)); // fault
            }
            *output = all;
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn forgotten_fence_cured(input: *const u32, parts: *mut u32, count: *mut u32, output: *mut u32) {
    unsafe {
        let block = thread::block_idx_x() as usize;
        let mut sum = 0u32;
        for i in 8 * block..8 * block + 8 {
            sum = sum.wrapping_add(*input.add(i));
        }
        *parts.add(block) = sum;
        thread::device_fence();
        if atomic_fetch_add_u32_device(count, Relaxed, 1) == 3 {
            thread::device_fence();
            let mut all = 0u32;
            for other in 0..4 {
                all = all.wrapping_add(*parts.add(other));
            }
            *output = all;
        }
    }
}
