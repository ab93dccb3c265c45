//! Hints:
//!
//! 1. `let votes = warp::warp_vote_ballot(u32::MAX, wanted);` and `let before = (votes & ((1 << lane) - 1)).count_ones();`
//! 2. `let mut first = 0; if lane == 0 { first = atomic_fetch_add_u32_device(count, Relaxed, votes.count_ones()); }`
//! 3. `let (first, _) = warp::warp_shuffle_idx(u32::MAX, first, 0, 32);` and the place is `first + before`.
//!
//! All lanes vote and shuffle, those without an element too: that is why `wanted` has the guard and no branch is around it.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to `n` elements, `list` to one for each of them that is above 0, `count` to a 0; blocks have whole warps.
#[kernel]
pub unsafe fn append(input: *const i32, list: *mut i32, count: *mut u32, n: u32) {
    let i = thread::index_1d();
    // SAFETY: in bounds; each place of the list is given once; all lanes of a warp vote and shuffle together.
    unsafe {
        let own = if i < n { *input.add(i as usize) } else { 0 };
        let wanted = own > 0;
        let lane = warp::lane_id();
        let votes = warp::warp_vote_ballot(u32::MAX, wanted);
        let before = (votes & ((1 << lane) - 1)).count_ones();
        let mut first = 0;
        if lane == 0 {
            first = atomic_fetch_add_u32_device(count, Relaxed, votes.count_ones());
        }
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, first, 0, 32);
        if wanted {
            *list.add((first + before) as usize) = own;
        }
    }
}
