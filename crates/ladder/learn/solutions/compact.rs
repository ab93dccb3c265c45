//! Hints:
//!
//! 1. `let votes = warp::warp_vote_ballot(u32::MAX, own > 0);` and `let count = votes.count_ones();`
//! 2. `let before = votes & ((1 << lane) - 1);`
//!
//! The same works with a sum of places over warps and blocks: it is how a GPU filters a list.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `input` and `output` point to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn compact(input: *const i32, output: *mut i32) {
    let (i, lane) = (thread::index_1d() as usize, warp::lane_id());
    let first = i - lane as usize;
    // SAFETY: in bounds; each place has one writer; all lanes vote together.
    unsafe {
        let own = *input.add(i);
        let votes = warp::warp_vote_ballot(u32::MAX, own > 0);
        let count = votes.count_ones();
        let place = (votes & ((1 << lane) - 1)).count_ones();
        if own > 0 {
            *output.add(first + place as usize) = own;
        }
        if lane >= count {
            *output.add(first + lane as usize) = 0;
        }
    }
}
