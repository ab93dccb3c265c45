//! Hints:
//!
//! 1. At present, `count` depends on the element of one lane only. What must all lanes do before lane 0 can write?
//! 2. Every lane votes whether its element is negative. The count is the number of bits in the result.
//! 3. `let votes = warp::warp_vote_ballot(u32::MAX, element < 0);`
//!
//! With a butterfly of additions, the same result takes five shuffles. The ballot is one instruction, because each lane
//! contributes one bit.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to an element for each thread, and `output` to one for each warp. The block size is a multiple of 32.
#[kernel]
pub unsafe fn count_votes(input: *const i32, output: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the arrays have an element for each thread and each warp, each word has one writer, and all lanes vote
    // together.
    unsafe {
        let element = *input.add(i);
        let count = warp::warp_vote_ballot(u32::MAX, element < 0).count_ones();
        if i % 32 == 0 {
            *output.add(i / 32) = count;
        }
    }
}
