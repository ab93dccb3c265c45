//! Shuffle up: the value of the previous lane.
//!
//! `warp_shuffle_up(mask, value, 1, 32)` gives each lane the value of the lane with the next lower index: values move
//! up. Lane 0 has no lower lane: it keeps its value, and the second result of the shuffle is `false`.
//!
//! Each thread must write the difference between its element and the previous element: `output[i] = input[i] - input[i
//! - 1]`. In each warp, lane 0 writes its element unchanged. Load each element only once. The goal counts the load
//! requests of all 6 warps.

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
        // TODO: read the `value` of the next lower lane, or use 0 in lane 0, without loading it.
        let before = if i % 32 > 0 { *input.add(i - 1) } else { 0 };
        *output.add(i) = value - before;
    }
}
