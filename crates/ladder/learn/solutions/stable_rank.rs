//! Hints:
//!
//! 1. The rank has two parts: the equal digits in the previous rows, and the equal digits in the lower lanes.
//! 2. `peers` also contains this lane and higher lanes. Which of its bits belong to lower lanes?
//! 3. `let rank = *counts.add(digit) + (peers & before).count_ones();`
//!
//! For each digit, one lane updates the counter, so no atomic is needed. The two calls of `sync_warp` order the reads
//! and the writes of the counters.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*, warp};

/// # Safety
/// `keys` and `ranks` point to 128 elements for each block of one warp.
#[kernel]
pub unsafe fn stable_rank(keys: *const u32, ranks: *mut u32) {
    #[address_space(shared)]
    static mut COUNTS: MaybeUninit<[u32; 16]> = MaybeUninit::uninit();
    let counts = (&raw mut COUNTS).cast::<u32>();
    let lane = thread::thread_idx_x();
    let before = (1_u32 << lane) - 1;
    let first = thread::block_idx_x() * 128 + lane;
    // SAFETY: a digit is below 16, the warp has 128 elements, and all lanes execute each exchange together.
    unsafe {
        if lane < 16 {
            *counts.add(lane as usize) = 0;
        }
        warp::sync_warp(u32::MAX);
        for row in 0..4 {
            let i = (first + row * 32) as usize;
            let digit = (*keys.add(i) % 16) as usize;
            let peers = warp::warp_match_any(u32::MAX, digit as u32);
            let rank = *counts.add(digit) + (peers & before).count_ones();
            *ranks.add(i) = rank;
            warp::sync_warp(u32::MAX);
            if peers & before == 0 {
                *counts.add(digit) += peers.count_ones();
            }
            warp::sync_warp(u32::MAX);
        }
    }
}
