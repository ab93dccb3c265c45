//! Hints:
//!
//! 1. How many lanes have the same value, and which of them is the lowest? Both answers are in the mask.
//! 2. The leader compares its lane, `warp::lane_id()`, with the lowest bit of the mask. Only the leader adds.
//! 3. `if same.trailing_zeros() == warp::lane_id() { …, Relaxed, same.count_ones()); }`
//!
//! Aggregation pays off if values repeat, as in images with large areas of one color. If all values differ, it only
//! costs a few instructions.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to a value below 64 for each thread, and `counts` to 64 zeros; the block size is a multiple of 32.
#[kernel]
pub unsafe fn aggregated_histogram(input: *const u32, counts: *mut u32) {
    let i = thread::index_1d();
    // SAFETY: every value is below 64, all threads access the counters with atomics only, and all lanes match together.
    unsafe {
        let value = *input.add(i as usize);
        let same = warp::warp_match_any(u32::MAX, value);
        if same.trailing_zeros() == warp::lane_id() {
            atomic_fetch_add_u32_device(counts.add(value as usize), Relaxed, same.count_ones());
        }
    }
}
