//! Shared code of the radix sorts: the scans, and the ranks of a tile's keys.
//!
//! A pass sorts by one digit and keeps the order of keys whose digits are equal. Its table of counts has a row for each
//! digit and a column for each tile. A scan of the table in row-major order computes the first position for the keys of
//! a digit and a tile. Keys with smaller digits go before this position, and so do keys with the same digit from
//! earlier tiles.

use core::array;

use cuda_std::{thread, warp};

use crate::grid_barrier::GridBarrier;
use crate::operation::Sum;
use crate::scan::shuffle::{scan_warp, sum_of_warps_before};

/// The number of bits in a wide digit.
pub(super) const DIGIT_BITS: u32 = 8;
/// The number of values of a wide digit.
pub(super) const DIGITS: u32 = 1 << DIGIT_BITS;

/// Returns the position in a tile of this thread's key `k` of `items`. A warp's part of the tile is contiguous and
/// consists of rows of 32 keys, one for each lane.
#[inline(always)]
pub(super) fn place(items: u32, k: u32) -> u32 {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    (warp * items + k) * 32 + lane
}

/// Returns the sum of the values of the threads before this one, and the sum of all values. Ends with a barrier.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `warp_sums` is shared memory with a word for each
/// warp.
#[inline(always)]
pub(super) unsafe fn scan_block<const BLOCK: u32>(warp_sums: *mut i32, value: u32) -> (u32, u32) {
    let sum = scan_warp::<i32, Sum>(value.cast_signed());
    // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
    // Afterwards, the last word is the sum of all warps.
    let (before, total) =
        unsafe { (sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, sum), *warp_sums.add(BLOCK as usize / 32 - 1)) };
    thread::sync_threads();
    ((before + sum).cast_unsigned() - value, total.cast_unsigned())
}

/// Replaces each count of a table with the sum of the counts before it. Starts and ends with a grid barrier.
///
/// Each block sums a part of the table. Then the block scans this part, starting with the sum of the parts before it,
/// as in `scan_reduce_first`.
///
/// # Safety
/// All threads of all blocks of `BLOCK` call the function together. `counts` has `length` words and `sums` has a word
/// for each block. Nothing else accesses these words during the call. The requirements of [`scan_block`] apply to
/// `warp_sums`.
#[inline(always)]
pub(super) unsafe fn scan_counts<const BLOCK: u32>(
    barrier: &mut GridBarrier,
    warp_sums: *mut i32,
    counts: *mut u32,
    length: u32,
    sums: *mut u32,
) {
    let (tid, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let part = length.div_ceil(thread::grid_dim_x());
    let mut start = (block * part).min(length);
    let end = (start + part).min(length);
    // SAFETY: all threads of the grid call this function, and all blocks are resident.
    unsafe { barrier.wait() };

    let mut sum = 0;
    for i in (start + tid..end).step_by(BLOCK as usize) {
        // SAFETY: i < length, and no thread writes the counts between these barriers.
        sum += unsafe { *counts.add(i as usize) };
    }
    // SAFETY: all threads of the block call `scan_block`. The sum of a part has one writer.
    unsafe {
        let (_, sum) = scan_block::<BLOCK>(warp_sums, sum);
        if tid == 0 {
            *sums.add(block as usize) = sum;
        }
        barrier.wait();
    }

    let mut before = 0;
    for i in (tid..block).step_by(BLOCK as usize) {
        // SAFETY: the sums of the parts before this one were written before the barrier.
        before += unsafe { *sums.add(i as usize) };
    }
    // SAFETY: all threads of the block call `scan_block`.
    let (_, mut before) = unsafe { scan_block::<BLOCK>(warp_sums, before) };
    while start < end {
        let i = (start + tid) as usize;
        // SAFETY: a count is accessed only if i < end. Only this block accesses the part, and only one thread accesses
        // each count.
        unsafe {
            let count = if i < end as usize { *counts.add(i) } else { 0 };
            let (sum, total) = scan_block::<BLOCK>(warp_sums, count);
            if i < end as usize {
                *counts.add(i) = before + sum;
            }
            before += total;
        }
        start += BLOCK;
    }
    // SAFETY: all threads of the grid call this function, and all blocks are resident.
    unsafe { barrier.wait() };
}

/// Returns the rank of each key of this thread among the tile's keys with the same digit. Also returns the number of
/// keys in the tile whose digit is this thread's index. Ranks follow the order of the keys' [`place`].
///
/// Each lane finds the lanes of its warp with the same digit (`match.any`). The first of these lanes adds their number
/// to the histogram of the warp. Then the block scans each digit's counts over the warps.
///
/// # Safety
/// All threads of a block of `BLOCK`, at least [`DIGITS`], call the function together. `histograms` is shared memory
/// with `DIGITS` words for each warp, which nothing else accesses until the block's next barrier. Digits are below
/// `DIGITS`.
#[inline(always)]
pub(super) unsafe fn rank_in_tile<const BLOCK: u32, const ITEMS: usize>(
    histograms: *mut u32,
    digits: [u32; ITEMS],
) -> ([u32; ITEMS], u32) {
    let (tid, lane) = (thread::thread_idx_x(), thread::thread_idx_x() % 32);
    let histogram = histograms.wrapping_add((tid / 32 * DIGITS) as usize);
    for digit in (lane..DIGITS).step_by(32) {
        // SAFETY: digit < DIGITS, and the warp has `DIGITS` words.
        unsafe { *histogram.add(digit as usize) = 0 };
    }
    let ranks: [u32; ITEMS] = array::from_fn(|k| {
        // SAFETY: all 32 lanes execute `match.any`. Digits are below `DIGITS`, and warp barriers separate reads and
        // writes.
        unsafe {
            let peers = warp::warp_match_any(u32::MAX, digits[k]);
            let peers_before = peers & ((1 << lane) - 1);
            let count = histogram.add(digits[k] as usize);
            warp::sync_warp(u32::MAX);
            let before = *count;
            warp::sync_warp(u32::MAX);
            if peers_before == 0 {
                *count = before + peers.count_ones();
            }
            before + peers_before.count_ones()
        }
    });
    thread::sync_threads();
    let mut total = 0;
    if tid < DIGITS {
        for warp in 0..BLOCK / 32 {
            // SAFETY: each warp has a word for each digit, and only this thread accesses the words of its digit.
            unsafe {
                let count = histograms.add((warp * DIGITS + tid) as usize);
                (*count, total) = (total, total + *count);
            }
        }
    }
    thread::sync_threads();
    // SAFETY: the words of the warp are final, and no thread writes them.
    (array::from_fn(|k| ranks[k] + unsafe { *histogram.add(digits[k] as usize) }), total)
}
