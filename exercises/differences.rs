//! Shuffle up: the value of the lane below.
//!
//! `warp_shuffle_up(mask, value, 1, 32)` gives each lane the value of the lane one below it: values move up. Lane 0 has no
//! lane below and keeps its own value; the second thing that the shuffle returns says so, with `false`.
//!
//! Let each thread write the difference between its element and the one before: `output[i] = input[i] - input[i - 1]`. In
//! each warp, lane 0 writes its element as it is. Load each element once.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` and `output` point to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn differences(input: *const i32, output: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds; each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let own = *input.add(i);
        // TODO: the `own` of the lane below, or 0 in lane 0, without loading it.
        let before = if i % 32 > 0 { *input.add(i - 1) } else { 0 };
        *output.add(i) = own - before;
    }
}
