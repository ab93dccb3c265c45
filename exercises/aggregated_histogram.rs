//! Aggregation: one atomic for all lanes with the same value.
//!
//! If many values are equal, the lanes of a warp increment the same counter, and the hardware executes their atomics
//! one after another. The goal counts sectors. If several lanes update one word, its sector counts once for each of
//! them.
//!
//! `warp_match_any(mask, value)` returns to each lane the mask of all lanes with the same value. The lowest of these
//! lanes is their leader, and the leader can add for all of them. Each counter then receives at most one addition per
//! warp.
//!
//! The number of values is a multiple of 32, so all lanes execute the match.

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
        // TODO: use one atomic for all lanes with the same value.
        atomic_fetch_add_u32_device(counts.add(value as usize), Relaxed, 1);
    }
}
