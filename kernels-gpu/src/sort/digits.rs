//! Radix sort with eight-bit digits.

use core::array;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::{address_space, thread};
use rung::rung;

use super::counts::{DIGIT_BITS, DIGITS, place, rank_in_tile, scan_counts};
use super::key::{Key, Value};
use super::pairs::Pairs;
use super::split::ITEMS;
use crate::grid_barrier::GridBarrier;

/// `sort_split` with 256 groups instead of two: a pass sorts by eight bits.
///
/// 32-bit keys need four passes instead of 32. The blocks count the digits of their tiles with atomics in shared
/// memory. The table has 256 counts for each tile, and a scan of the table computes the positions for the keys of each
/// digit. A ballot is not enough to rank a key among the tile's keys with the same digit. So the lanes of a warp find
/// the lanes with the same digit with `match.any`. The next limit is the scatter: neighboring lanes have different
/// digits, so a store of a warp touches up to 32 sectors. (Satish, Harris and Garland, *Designing Efficient Sorting
/// Algorithms for Manycore GPUs*, 2009, section 4; Merrill and Grimshaw, *High Performance and Scalable Radix Sorting*,
/// 2011; *Programming Massively Parallel Processors*, section 13.5.)
///
/// # Safety
/// See [`sort`](super).
#[rung(
    after = sort_split,
    lesson = "eight bits per pass: a histogram per tile, a scan of all histograms, and 4 passes instead of 32",
    blocks = [512],
    items_per_thread = ITEMS,
    resident = 2,
    grid = |launch| launch.stride(2 * launch.device.multiprocessors),
    single_pass,
    blocks_wait,
    (K, V) = {
        _: (u32, ()), i32: (i32, ()), f32: (f32, ()), u64: (u64, ()),
        pairs_u32: (u32, u32), pairs_i32: (i32, u32), pairs_f32: (f32, u32), pairs_u64: (u64, u32),
    }
)]
pub unsafe fn sort_digits<K: Key, V: Value, const BLOCK: u32>(
    keys: *const K,
    values: *const V,
    sorted_keys: *mut K,
    sorted_values: *mut V,
    other_keys: *mut K,
    other_values: *mut V,
    counts: *mut u32,
    sums: *mut u32,
    barrier: *mut u32,
    bits: u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut HISTOGRAMS: MaybeUninit<[u32; (BLOCK / 32 * DIGITS) as usize]> = MaybeUninit::uninit();
    let (warp_sums, histograms) = ((&raw mut WARP_SUMS).cast::<i32>(), (&raw mut HISTOGRAMS).cast::<u32>());
    let (tile, tiles) = (BLOCK * ITEMS, n.div_ceil(BLOCK * ITEMS));
    let (first, blocks) = (thread::block_idx_x(), thread::grid_dim_x() as usize);
    // The number of passes is even, so the last pass writes the sorted keys.
    let (mut from, mut to) = (Pairs::new(keys, values), Pairs::new(other_keys, other_values));
    let mut next = Pairs::new(sorted_keys, sorted_values);
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        for index in (first..tiles).step_by(blocks) {
            // SAFETY: all threads of the block call `count_digits`. The tile has a column in the table, and only this
            // block counts the tile.
            unsafe { count_digits::<K, BLOCK, ITEMS>(histograms, from.keys, n, index, shift, counts) };
        }
        // SAFETY: all threads of the grid call this function, and all blocks are resident.
        unsafe { scan_counts::<BLOCK>(&mut barrier, warp_sums, counts, DIGITS * tiles, sums) };
        for index in (first..tiles).step_by(blocks) {
            // Positions after the last key have the greatest digit, so their ranks follow the ranks of all keys.
            let digits: [u32; ITEMS as usize] = array::from_fn(|k| {
                let i = index * tile + place(ITEMS, k as u32);
                // SAFETY: a key is read only if i < n, and no thread writes these keys in this pass.
                let ordered = if i < n { unsafe { from.ordered(i) } } else { K::GREATEST };
                K::digit::<DIGIT_BITS>(ordered, shift)
            });
            // SAFETY: all threads of the block call `rank_in_tile`, and each warp has its words in `histograms`.
            let (ranks, _) = unsafe { rank_in_tile::<BLOCK, { ITEMS as usize }>(histograms, digits) };
            for k in 0..ITEMS as usize {
                let i = index * tile + place(ITEMS, k as u32);
                if i < n {
                    // SAFETY: the key exists, and no other key moves to the same position in this pass.
                    unsafe { from.copy_one(i, to, *counts.add((digits[k] * tiles + index) as usize) + ranks[k]) };
                }
            }
            thread::sync_threads();
        }
        // SAFETY: all threads of the grid call this function, and all blocks are resident.
        unsafe { barrier.wait() };
        (from, to, next) = (to, next, to);
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}

/// Counts the digits of a tile and writes the counts to its column of the table. Ends with a barrier.
///
/// # Safety
/// All threads of a block of `BLOCK`, at least [`DIGITS`], call the function together. `histogram` is shared memory
/// with `DIGITS` words, `keys` has `n` keys, which no thread writes, and no other block accesses this column of
/// `counts`.
#[inline(always)]
pub(super) unsafe fn count_digits<K: Key, const BLOCK: u32, const ITEMS: u32>(
    histogram: *mut u32,
    keys: *const K,
    n: u32,
    index: u32,
    shift: u32,
    counts: *mut u32,
) {
    let (tid, start, tiles) = (thread::thread_idx_x(), index * BLOCK * ITEMS, n.div_ceil(BLOCK * ITEMS));
    if tid < DIGITS {
        // SAFETY: the histogram has `DIGITS` words, and only this thread accesses word `tid` before the barrier.
        unsafe { *histogram.add(tid as usize) = 0 };
    }
    thread::sync_threads();
    for k in 0..ITEMS {
        let i = start + place(ITEMS, k);
        if i < n {
            // SAFETY: i < n, and a digit is below `DIGITS`. Between the barriers, the words are accessed by atomics
            // only.
            unsafe {
                let digit = K::digit::<DIGIT_BITS>((*keys.add(i as usize)).to_ordered(), shift);
                atomic_fetch_add_u32_block(histogram.add(digit as usize), Relaxed, 1);
            }
        }
    }
    thread::sync_threads();
    if tid < DIGITS {
        // SAFETY: the table has a row for each digit and a column for each tile.
        unsafe { *counts.add((tid * tiles + index) as usize) = *histogram.add(tid as usize) };
    }
    thread::sync_threads();
}
