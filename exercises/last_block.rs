//! The last block: one launch for the whole sum.
//!
//! Each block computes the sum of its part. The last block to finish adds up these sums. To find the last block, each
//! block adds 1 to a counter. The block that receives `blocks - 1` from the addition is the last.
//!
//! Incrementing the counter does not make the sums of the other blocks visible. Visibility requires a *fence*,
//! `thread::device_fence()`: a thread that sees a write after the fence also sees the writes before the fence. The
//! writer needs a fence between its sum and its increment. The reader needs a fence between its increment and its
//! reads.
//!
//! Add the counter and the two fences. Here each block has one thread and sums 8 elements.

use cuda_std::prelude::*;
use {core::sync::atomic::Ordering::Relaxed, cuda_std::atomic::mid::atomic_fetch_add_u32_device};

/// # Safety
/// Each block has one thread. `input` points to 8 elements per block, `sums` to one element per block, `count` to a
/// zero, and `output` to one element.
#[kernel]
pub unsafe fn last_block(input: *const u32, sums: *mut u32, count: *mut u32, output: *mut u32) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    // SAFETY: the arrays have elements for each block. The last block reads the sums after all blocks have incremented
    // the counter.
    unsafe {
        let mut sum = 0u32;
        for i in 8 * block..8 * block + 8 {
            sum = sum.wrapping_add(*input.add(i));
        }
        *sums.add(block) = sum;
        // TODO: is this the last block to finish? Also add the two fences.
        if block as u32 == blocks - 1 {
            let mut all = 0u32;
            for other in 0..blocks as usize {
                all = all.wrapping_add(*sums.add(other));
            }
            *output = all;
        }
    }
}
