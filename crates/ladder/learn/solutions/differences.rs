//! Hints:
//!
//! 1. `input[i - 1]` is already in a register. Which lane has it, and in which variable?
//! 2. Shuffle `value` up by 1. The second result indicates whether there is a lower lane.
//! 3. `let (below, exists) = warp::warp_shuffle_up(u32::MAX, value, 1, 32);`
//!
//! `warp_shuffle_down` moves values in the other direction. Without shuffles the kernel would load the neighbor's
//! element again, or use shared memory and a barrier.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` and `output` point to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn differences(input: *const i32, output: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the arrays have an element for each thread, each thread writes a different element, and all lanes shuffle
    // together.
    unsafe {
        let value = *input.add(i);
        let (below, exists) = warp::warp_shuffle_up(u32::MAX, value, 1, 32);
        let before = if exists { below } else { 0 };
        *output.add(i) = value - before;
    }
}
