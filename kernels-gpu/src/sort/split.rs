//! Radix sort, one bit at a time.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread, warp};
use rung::rung;

use super::counts::{place, scan_counts};
use super::key::{Key, Value};
use super::pairs::Pairs;
use crate::grid_barrier::GridBarrier;
use crate::operation::Sum;
use crate::scan::shuffle::sum_of_warps_before;

/// The number of keys per thread.
pub(super) const ITEMS: u32 = 8;

/// Each pass splits the keys by one bit, starting with the lowest bit. Keys with a 0 go to the front, and keys with the
/// same bit keep their order.
///
/// The previous rungs compare keys. Here no two keys are compared, and the number of passes depends only on the size of
/// a key: 32 for 32 bits. The position of a key with a 0 is the number of zeros before it, which is a prefix sum. The
/// blocks count the zeros of their tiles, and the grid scans the counts. Then each tile is loaded again, and a ballot
/// counts the zeros of the earlier lanes. A pass reads the array twice and writes it once. So for 32-bit keys, expect
/// the rung to take as long as 32 times 1.5 copies of the array. (*Programming Massively Parallel Processors*, section
/// 13.3; Blelloch, *Prefix Sums and Their Applications*, 1990, `split`.)
///
/// # Safety
/// See [`sort`](super).
#[rung(
    after = sort_merge,
    lesson = "no comparisons: a stable split for each bit; a prefix sum over the zero bits gives the places",
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
pub unsafe fn sort_split<K: Key, V: Value, const BLOCK: u32>(
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
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let (tid, tile, lanes_before) = (thread::thread_idx_x(), BLOCK * ITEMS, (1 << (thread::thread_idx_x() % 32)) - 1);
    let (first, blocks, tiles) = (thread::block_idx_x(), thread::grid_dim_x() as usize, n.div_ceil(tile));
    // The number of passes is even, so the last pass writes the sorted keys.
    let (mut from, mut to) = (Pairs::new(keys, values), Pairs::new(other_keys, other_values));
    let mut next = Pairs::new(sorted_keys, sorted_values);
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    for bit in 0..bits {
        // SAFETY: a key is read only if i < n, and no thread writes these keys in this pass.
        let is_zero = |i: u32| i < n && K::digit::<1>(unsafe { from.ordered(i) }, bit) == 0;
        for index in (first..tiles).step_by(blocks) {
            let (mut zeros, count) = (0, (n - index * tile).min(tile));
            for k in 0..ITEMS {
                zeros += thread::sync_threads_count(u32::from(is_zero(index * tile + place(ITEMS, k))));
            }
            if tid == 0 {
                // SAFETY: the tile has a column in both rows, and only this thread writes it.
                unsafe {
                    *counts.add(index as usize) = zeros;
                    *counts.add((tiles + index) as usize) = count - zeros;
                }
            }
        }
        // SAFETY: all threads of the grid call this function, and all blocks are resident.
        unsafe { scan_counts::<BLOCK>(&mut barrier, warp_sums, counts, 2 * tiles, sums) };
        for index in (first..tiles).step_by(blocks) {
            // SAFETY: the mask names all 32 lanes, and all of them vote.
            let ballots: [u32; ITEMS as usize] = core::array::from_fn(|k| unsafe {
                warp::warp_vote_ballot(u32::MAX, is_zero(index * tile + place(ITEMS, k as u32)))
            });
            let zeros = ballots.iter().fold(0, |zeros, ballot| zeros + ballot.count_ones());
            // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
            let mut zeros =
                unsafe { sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, zeros.cast_signed()) }.cast_unsigned();
            #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
            for k in 0..ITEMS as usize {
                let ballot = ballots[k];
                let (place, rank) = (place(ITEMS, k as u32), zeros + (ballot & lanes_before).count_ones());
                let (row, rank) = if ballot >> (tid % 32) & 1 == 1 { (0, rank) } else { (tiles, place - rank) };
                if index * tile + place < n {
                    // SAFETY: the key exists, and no other key moves to the same position in this pass.
                    unsafe {
                        let start = *counts.add((row + index) as usize);
                        from.copy_one(index * tile + place, to, start + rank);
                    }
                }
                zeros += ballot.count_ones();
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
