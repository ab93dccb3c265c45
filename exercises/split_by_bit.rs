//! Split: keys with a 0 first, then keys with a 1.
//!
//! A *split* moves all keys whose bit is 0 to the front, and preserves the order within each of the two groups. Splits
//! by bit 0, bit 1, bit 2 and so on sort the keys: this is a radix sort with one-bit digits.
//!
//! Here each warp splits 32 keys. A vote collects the bits of all lanes: bit `l` of `ones` is the key bit of lane `l`.
//! A lane can count the zeros or the ones of all lower lanes without a scan. Where does its key go?

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
        // TODO: compute the place of the key among the 32 keys of the warp.
        let place = (ones & before).count_ones();
        *output.add((i - lane + place) as usize) = key;
    }
}
