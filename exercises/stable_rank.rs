//! Rank: the number of equal digits before a key.
//!
//! A radix sort by digits needs the *rank* of each key: the number of earlier keys that have the same digit. An atomic
//! counter for each digit gives each key a different number, but it does not preserve the order of the keys. A sort by
//! several digits needs this order (it must be *stable*).
//!
//! A warp ranks four rows of 32 keys, one row after another. For each digit, `counts` holds the number of keys in the
//! previous rows. `warp_match_any` returns to a lane the mask of all lanes that have the same digit. Compute the rank
//! from both.

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
            // TODO: count the keys with the same digit in the previous rows and in the lower lanes.
            let rank = peers.count_ones();
            *ranks.add(i) = rank;
            warp::sync_warp(u32::MAX);
            if peers & before == 0 {
                *counts.add(digit) += peers.count_ones();
            }
            warp::sync_warp(u32::MAX);
        }
    }
}
