//! Hints:
//!
//! 1. `let (below, exists) = warp::warp_shuffle_up(u32::MAX, own, 1, 32);`
//! 2. Where `exists` is false, take 0 in the place of `below`.
//!
//! `warp_shuffle_down` is the other direction. Without shuffles the neighbour's element would be loaded again, or go through
//! shared memory and a barrier.

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
        let (below, exists) = warp::warp_shuffle_up(u32::MAX, own, 1, 32);
        let before = if exists { below } else { 0 };
        *output.add(i) = own - before;
    }
}
