//! Hints:
//!
//! 1. Every lane votes, and lane 0 alone writes.
//! 2. `let votes = warp::warp_vote_ballot(u32::MAX, own < 0);`
//!
//! A butterfly of additions gives the same in five shuffles. For one bit a lane, the ballot does it in one instruction.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to an element for each thread, `output` to one for each warp; blocks have whole warps.
#[kernel]
pub unsafe fn count_votes(input: *const i32, output: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds; each word of the output has one writer; all lanes vote together.
    unsafe {
        let own = *input.add(i);
        let count = warp::warp_vote_ballot(u32::MAX, own < 0).count_ones();
        if i % 32 == 0 {
            *output.add(i / 32) = count;
        }
    }
}
