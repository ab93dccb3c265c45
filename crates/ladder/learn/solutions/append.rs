//! Hints:
//!
//! 1. All lanes vote with `wanted`. How does a lane know how many lower lanes have an element for the list?
//! 2. Only lane 0 adds to the counter, so only lane 0 has the first index. How do the other lanes receive it?
//! 3. `let (first, _) = warp::warp_shuffle_idx(u32::MAX, first, 0, 32);`, and the index is `first + before`.
//!
//! All lanes vote and shuffle, including lanes without an element. For this reason, `wanted` contains the bounds check,
//! and the kernel does not return early.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to `n` elements, `list` to one element for each input above 0, and `count` to a 0. The block size is
/// a multiple of 32.
#[kernel]
pub unsafe fn append(input: *const i32, list: *mut i32, count: *mut u32, n: u32) {
    let i = thread::index_1d();
    // SAFETY: the code below checks that i < n. Each index of the list is reserved once. All lanes of a warp vote and
    // shuffle together.
    unsafe {
        let element = if i < n { *input.add(i as usize) } else { 0 };
        let wanted = element > 0;
        let lane = warp::lane_id();
        let votes = warp::warp_vote_ballot(u32::MAX, wanted);
        let before = (votes & ((1 << lane) - 1)).count_ones();
        let mut first = 0;
        if lane == 0 {
            first = atomic_fetch_add_u32_device(count, Relaxed, votes.count_ones());
        }
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, first, 0, 32);
        if wanted {
            *list.add((first + before) as usize) = element;
        }
    }
}
