//! Aggregation: one atomic for all lanes with the same value.
//!
//! Where many values are the same, the lanes of a warp want the same counter, and their atomics come one after the other.
//!
//! `warp_match_any(mask, value)` gives each lane the mask of all lanes that have the same value. The lowest of them, their
//! leader, can add for all: `count_ones()` of that mask is how many they are. So each counter gets one addition a warp.
//!
//! All lanes come to the match here: the number of values is a multiple of 32.

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
        // TODO: one atomic for the lanes with the same value.
        atomic_fetch_add_u32_device(counts.add(value as usize), Relaxed, 1);
    }
}
