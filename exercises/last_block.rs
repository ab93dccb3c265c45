//! The last block: one launch for the whole sum.
//!
//! Each block has the sum of its part. Who adds those up? The block that is done last, and it knows by counting: every
//! block adds 1 to a counter, and the one that gets `blocks - 1` back is the last.
//!
//! Counting alone does not say that the other blocks' sums have been written. A *fence*, `thread::device_fence()`, does: what
//! was written before the fence is seen by all who see what was written after it. One belongs between the sum and the count,
//! and another between the count and the reading of the others' sums.
//!
//! The counting is missing, too. Here each block has one thread and adds up 8 elements.

use cuda_std::prelude::*;
use {core::sync::atomic::Ordering::Relaxed, cuda_std::atomic::mid::atomic_fetch_add_u32_device};

/// # Safety
/// `input` points to 8 elements for each block of one thread, `sums` to one for each, `count` to a 0, `output` to one element.
#[kernel]
pub unsafe fn last_block(input: *const u32, sums: *mut u32, count: *mut u32, output: *mut u32) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    // SAFETY: in bounds; sums of other blocks are read after they have counted themselves.
    unsafe {
        let mut sum = 0u32;
        for i in 8 * block..8 * block + 8 {
            sum = sum.wrapping_add(*input.add(i));
        }
        *sums.add(block) = sum;
        // TODO: is this the last block to be done? And two fences.
        if block as u32 == blocks - 1 {
            let mut all = 0u32;
            for other in 0..blocks as usize {
                all = all.wrapping_add(*sums.add(other));
            }
            *output = all;
        }
    }
}
