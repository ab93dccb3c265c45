//! Ballot: one bit from each lane.
//!
//! `warp_vote_ballot(mask, predicate)` collects one bit from each lane into a word, and all lanes receive the word. Bit
//! 5 is 1 if the predicate of lane 5 is `true`. `count_ones()` of the word returns the number of lanes whose predicate
//! is true.
//!
//! Lane 0 of each warp must write the number of negative elements of the warp to `output[warp]`. `warp` is the index of
//! the warp in the grid.

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
        // TODO: count the lanes with a negative element.
        let count = u32::from(element < 0);
        if i % 32 == 0 {
            *output.add(i / 32) = count;
        }
    }
}
