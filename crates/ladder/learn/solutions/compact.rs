//! Hints:
//!
//! 1. All lanes vote whether their element is positive. `count` is the number of bits in the result.
//! 2. `place` counts only the bits of lower lanes. Which operation keeps only the bits of a mask?
//! 3. `let place = (votes & ((1 << lane) - 1)).count_ones();`
//!
//! The method also works across warps and blocks, with running sums of their counts. GPU programs filter lists in this
//! way.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `input` and `output` point to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn compact(input: *const i32, output: *mut i32) {
    let (i, lane) = (thread::index_1d() as usize, warp::lane_id());
    let first = i - lane as usize;
    // SAFETY: the arrays have an element for each thread, each element has one writer, and all lanes vote together.
    unsafe {
        let element = *input.add(i);
        let votes = warp::warp_vote_ballot(u32::MAX, element > 0);
        let count = votes.count_ones();
        let place = (votes & ((1 << lane) - 1)).count_ones();
        if element > 0 {
            *output.add(first + place as usize) = element;
        }
        if lane >= count {
            *output.add(first + lane as usize) = 0;
        }
    }
}
