//! Hints:
//!
//! 1. The condition of the `if` compares the index of the block. The last block to finish can have any index.
//! 2. The atomic addition returns the number of blocks that incremented the counter earlier. Which number does the last
//!    block receive?
//! 3. A fence, `let before = atomic_fetch_add_u32_device(count, Relaxed, 1);`, `if before == blocks - 1 {`, and a
//!    second fence.
//!
//! An atomic addition with the ordering `AcqRel` has the same effect as the two fences. The counter is not 0 after the
//! launch, so the host must write a 0 before the next launch.

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
        thread::device_fence();
        let before = atomic_fetch_add_u32_device(count, Relaxed, 1);
        if before == blocks - 1 {
            thread::device_fence();
            let mut all = 0u32;
            for other in 0..blocks as usize {
                all = all.wrapping_add(*sums.add(other));
            }
            *output = all;
        }
    }
}
