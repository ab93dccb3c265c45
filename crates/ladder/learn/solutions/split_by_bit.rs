//! Hints:
//!
//! 1. A key with a 0 goes after the zeros of all lower lanes. A key with a 1 goes after all zeros of the warp, and
//!    after the ones of all lower lanes.
//! 2. `count_ones` counts the set bits of a mask. `before` has the bits of all lower lanes.
//! 3. `if is_one { (!ones).count_ones() + (ones & before).count_ones() } else { (!ones & before).count_ones() }`
//!
//! A split of a whole block also needs a scan of the warps' counts. The split preserves the order within each group, so
//! it is *stable*. Without that property, later splits would destroy the order that earlier splits made.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` and `output` point to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn split_by_bit(input: *const u32, output: *mut u32, bit: u32) {
    let i = thread::index_1d();
    let lane = thread::thread_idx_x() % 32;
    let before = (1_u32 << lane) - 1;
    // SAFETY: both arrays have an element for each thread, all lanes vote together, and each place has one writer.
    unsafe {
        let key = *input.add(i as usize);
        let is_one = key >> bit & 1 == 1;
        let ones = warp::warp_vote_ballot(u32::MAX, is_one);
        let place =
            if is_one { (!ones).count_ones() + (ones & before).count_ones() } else { (!ones & before).count_ones() };
        *output.add((i - lane + place) as usize) = key;
    }
}
