//! Hints:
//!
//! 1. `let same = warp::warp_match_any(u32::MAX, value);`
//! 2. The leader's number is `same.trailing_zeros()`; compare it with `warp::lane_id()`.
//! 3. The leader adds `same.count_ones()`.
//!
//! It pays where values repeat, as in pictures with large areas of one colour, and costs a little where all differ.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to a value below 64 for each thread, `counts` to 64 zeros; blocks have whole warps.
#[kernel]
pub unsafe fn aggregated_histogram(input: *const u32, counts: *mut u32) {
    let i = thread::index_1d();
    // SAFETY: in bounds; counters are counted with atomics only; all lanes match together.
    unsafe {
        let value = *input.add(i as usize);
        let same = warp::warp_match_any(u32::MAX, value);
        if same.trailing_zeros() == warp::lane_id() {
            atomic_fetch_add_u32_device(counts.add(value as usize), Relaxed, same.count_ones());
        }
    }
}
