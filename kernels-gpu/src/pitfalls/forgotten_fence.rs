//! The last block adds up the partial sums of the other blocks, without a fence.
//!
//! Each block writes a partial sum and increments a counter. The block that sees the last count adds up all partial
//! sums. But the count shows only that the other blocks incremented the counter. The write before the increment may
//! become visible after the increment.
//!
//! The fixed version has a fence between the write and the increment, and another fence between the increment and the
//! reads. CUDA's sample `threadFenceReduction` is named after this kind of fence.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::{kernel, thread};

pitfall! { forgotten_fence: Race, 4 x 1 {
    lesson: "a counter that signals data needs a fence before the increment, and another before the data are read",
    on_gpu: "nearly always right; wrong if a write takes longer than the increment",
    arguments: [Input(32), Unset(4), Zeros(1), Output(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn forgotten_fence(input: *const u32, partial_sums: *mut u32, count: *mut u32, output: *mut u32) {
    unsafe {
        let block = thread::block_idx_x() as usize;
        let mut sum = 0u32;
        for i in 8 * block..8 * block + 8 {
            sum = sum.wrapping_add(*input.add(i));
        }
        *partial_sums.add(block) = sum; // other
        if atomic_fetch_add_u32_device(count, Relaxed, 1) == 3 {
            let mut total = 0u32;
            for b in 0..4 {
                total = total.wrapping_add(*partial_sums.add(b)); // fault
            }
            *output = total;
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn forgotten_fence_fixed(input: *const u32, partial_sums: *mut u32, count: *mut u32, output: *mut u32) {
    // SAFETY: each of the 4 blocks reads 8 of 32 elements and writes one partial sum. The two fences order these writes
    // before the last block's reads, and only that block writes `output`.
    unsafe {
        let block = thread::block_idx_x() as usize;
        let mut sum = 0u32;
        for i in 8 * block..8 * block + 8 {
            sum = sum.wrapping_add(*input.add(i));
        }
        *partial_sums.add(block) = sum;
        thread::device_fence();
        if atomic_fetch_add_u32_device(count, Relaxed, 1) == 3 {
            thread::device_fence();
            let mut total = 0u32;
            for b in 0..4 {
                total = total.wrapping_add(*partial_sums.add(b));
            }
            *output = total;
        }
    }
}
