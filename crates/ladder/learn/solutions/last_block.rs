//! Hints:
//!
//! 1. `let before = atomic_fetch_add_u32_device(count, Relaxed, 1);`
//! 2. It is the last block if `before == blocks - 1`.
//! 3. A fence in front of that line, and another behind it inside of the `if`.
//!
//! With atomics of `AcqRel` one would say the same; the fences show what they are made of. The counter is not 0 afterwards:
//! before the next launch, the host has to write that 0.

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
