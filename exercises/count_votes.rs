//! A ballot: one bit from each lane.
//!
//! `warp_vote_ballot(mask, predicate)` gathers a bit of each lane into a word that all lanes get: bit 5 is 1 if lane 5 has
//! said `true`. `count_ones()` of that word is the number of lanes that did.
//!
//! Let lane 0 of each warp write how many of its 32 elements are negative to `output[warp]`, where `warp` is the number of the
//! warp in the grid.

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
        // TODO: how many lanes of the warp have a negative element.
        let count = u32::from(own < 0);
        if i % 32 == 0 {
            *output.add(i / 32) = count;
        }
    }
}
