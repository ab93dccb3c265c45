//! Merge sort with merge paths.

use core::array;
use core::mem::{MaybeUninit, swap};

use cuda_std::{address_space, thread};
use rung::rung;

use super::bitonic_block::copy;
use super::key::{Key, Value};
use crate::grid_barrier::GridBarrier;

/// Neighboring keys of a thread. The number is odd, so that the first keys of a warp's lanes lie in different banks.
const ITEMS: u32 = 5;

/// Blocks sort tiles, and each pass over the array merges pairs of sorted runs to runs of twice the length.
///
/// The steps of `sort_bitonic` are independent of the keys, and `n log2² n` comparisons are the price. A merge looks at its
/// keys: a pass doubles the runs. Every thread merges an equal number of keys of the result. It finds where they start in both
/// runs by a binary search: of the first `d` keys of the result, `i` are from the first run and `d - i` from the second
/// one, for one `i` only. A block searches in this way for its tile of the result, loads the two parts, and its threads search
/// in them. Of equal keys, those of the first run come first, so the sort is stable. For 2^24 keys there are 13 passes: expect
/// the time of about 14 copies of the array, and more for the searches. (Green, McColl and Bader, *GPU Merge Path*, 2012;
/// Satish, Harris and Garland, *Designing Efficient Sorting Algorithms for Manycore GPUs*, 2009, section 5.)
///
/// # Safety
/// As [`sort`](super) says.
#[rung(
    after = sort_bitonic,
    lesson = "a pass merges all pairs of runs; a binary search gives each thread an equal part of the result",
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
pub unsafe fn sort_merge<K: Key, V: Value, const BLOCK: u32>(
    keys: *const K,
    values: *const V,
    sorted_keys: *mut K,
    sorted_values: *mut V,
    other_keys: *mut K,
    other_values: *mut V,
    barrier: *mut u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut KEYS: MaybeUninit<[K; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut VALUES: MaybeUninit<[V; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut SPLITS: MaybeUninit<[u32; 2]> = MaybeUninit::uninit();
    let (tile_keys, tile_values) = ((&raw mut KEYS).cast::<K>(), (&raw mut VALUES).cast::<V>());
    let (splits, tid, tile) = ((&raw mut SPLITS).cast::<u32>(), thread::thread_idx_x(), BLOCK * ITEMS);
    let tiles = n.div_ceil(tile);
    let (mut to_keys, mut to_values) = (sorted_keys, sorted_values);
    let (mut from_keys, mut from_values) = (other_keys, other_values);
    if tiles.next_power_of_two().trailing_zeros() % 2 == 1 {
        // An odd number of merges ends in the buffer in which it did not start.
        (swap(&mut to_keys, &mut from_keys), swap(&mut to_values, &mut from_values));
    }
    // SAFETY: the counter is 0, and these barriers alone use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    for index in (thread::block_idx_x()..tiles).step_by(thread::grid_dim_x() as usize) {
        let (start, count) = ((index * tile) as usize, (n - index * tile).min(tile));
        // SAFETY: the tile has `count` keys from `start` on, and one block has it.
        unsafe {
            copy::<K, V, BLOCK>(keys.add(start), values.add(start), tile_keys, tile_values, count);
            sort_tile(tile_keys, tile_values, count);
            copy::<K, V, BLOCK>(tile_keys, tile_values, to_keys.add(start), to_values.add(start), count);
        }
        thread::sync_threads();
    }
    let mut width = 1;
    while width < tiles {
        // SAFETY: all threads call it, and all blocks are resident.
        unsafe { barrier.wait() };
        (swap(&mut to_keys, &mut from_keys), swap(&mut to_values, &mut from_values));
        for index in (thread::block_idx_x()..tiles).step_by(thread::grid_dim_x() as usize) {
            let (start, first) = (index * tile, (index & !(2 * width - 1)) * tile);
            let (middle, end) = ((first + width * tile).min(n), (first + 2 * width * tile).min(n));
            let (a, b, count) = (first as usize, middle as usize, (n - start).min(tile));
            // SAFETY: the runs are the keys from `first` and `middle` on, sorted by the pass before.
            unsafe {
                if tid < 2 {
                    let diagonal = start - first + tid * count;
                    *splits.add(tid as usize) =
                        merge_path(from_keys.add(a), middle - first, from_keys.add(b), end - middle, diagonal);
                }
                thread::sync_threads();
                let (split, part) = (*splits, *splits.add(1) - *splits);
                let (a, b) = (a + split as usize, b + (start - first - split) as usize);
                let (rest_keys, rest_values) = (tile_keys.add(part as usize), tile_values.add(part as usize));
                copy::<K, V, BLOCK>(from_keys.add(a), from_values.add(a), tile_keys, tile_values, part);
                copy::<K, V, BLOCK>(from_keys.add(b), from_values.add(b), rest_keys, rest_values, count - part);
                merge(tile_keys, tile_values, part, count, tid * ITEMS);
                thread::sync_threads();
                let (to_keys, to_values) = (to_keys.add(start as usize), to_values.add(start as usize));
                copy::<K, V, BLOCK>(tile_keys, tile_values, to_keys, to_values, count);
            }
            thread::sync_threads();
        }
        width *= 2;
    }
    // SAFETY: once for each block, after the last barrier.
    unsafe { barrier.finish() };
}

/// Sorts a tile in shared memory. Begins and ends with a barrier.
///
/// # Safety
/// All threads of a block of `BLOCK` call it together. `keys` and `values` are shared memory with `count` elements, at most
/// `BLOCK * ITEMS`, which only this block accesses.
#[inline(always)]
unsafe fn sort_tile<K: Key, V: Value>(keys: *mut K, values: *mut V, count: u32) {
    let tid = thread::thread_idx_x();
    thread::sync_threads();
    // The thread sorts its keys. Only neighbors in the wrong order change their places, which is stable.
    for round in 0..ITEMS {
        for k in (round % 2..ITEMS - 1).step_by(2) {
            let place = (tid * ITEMS + k) as usize;
            // SAFETY: place + 1 < count, and both places belong to this thread.
            unsafe {
                if place + 1 < count as usize && (*keys.add(place)).to_ordered() > (*keys.add(place + 1)).to_ordered() {
                    keys.add(place).swap(keys.add(place + 1));
                    values.add(place).swap(values.add(place + 1));
                }
            }
        }
    }
    let mut width = 1;
    while width * ITEMS < count {
        let first = ((tid & !(2 * width - 1)) * ITEMS).min(count);
        let (middle, end) = ((width * ITEMS).min(count - first), (2 * width * ITEMS).min(count - first));
        // SAFETY: the runs of this thread's pair are sorted, and all threads call it.
        unsafe { merge(keys.add(first as usize), values.add(first as usize), middle, end, tid * ITEMS - first) };
        width *= 2;
    }
    thread::sync_threads();
}

/// Merges the runs of places 0 to `middle` and `middle` to `end` in shared memory. This thread merges the `ITEMS` keys of the
/// result from place `diagonal` on. Begins with a barrier.
///
/// # Safety
/// All threads of the block call it together, those of the same runs with all multiples of `ITEMS` below `end`. `keys` and
/// `values` are shared memory with `end` elements, and both runs are sorted.
#[inline(always)]
unsafe fn merge<K: Key, V: Value>(keys: *mut K, values: *mut V, middle: u32, end: u32, diagonal: u32) {
    thread::sync_threads();
    let merged = (diagonal < end).then(|| {
        // SAFETY: both runs are sorted and complete, and diagonal < end.
        let mut first = unsafe { merge_path(keys, middle, keys.add(middle as usize), end - middle, diagonal) };
        let (mut second, mut place) = (middle + diagonal - first, 0);
        array::from_fn::<(K, V), { ITEMS as usize }, _>(|_| {
            // SAFETY: first < middle and second < end where a key is read. After the last key, the last one is read again.
            unsafe {
                let is_before =
                    || (*keys.add(first as usize)).to_ordered() <= (*keys.add(second as usize)).to_ordered();
                let is_first = first < middle && (second == end || is_before());
                let is_second = !is_first && second < end;
                place = if is_first {
                    first
                } else if is_second {
                    second
                } else {
                    place
                };
                (first, second) = (first + u32::from(is_first), second + u32::from(is_second));
                (*keys.add(place as usize), *values.add(place as usize))
            }
        })
    });
    thread::sync_threads();
    let Some(merged) = merged else { return };
    #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
    for k in 0..ITEMS as usize {
        let place = diagonal as usize + k;
        if place < end as usize {
            // SAFETY: place < end, and each place has one writer after the barrier.
            unsafe { (*keys.add(place), *values.add(place)) = merged[k] };
        }
    }
}

/// Returns how many of the first `diagonal` keys of the merged runs are from the first run.
///
/// # Safety
/// Both runs are sorted, of these lengths, and no thread writes them. `diagonal` is at most the sum of the lengths.
#[inline(always)]
unsafe fn merge_path<K: Key>(
    first: *const K,
    first_count: u32,
    second: *const K,
    second_count: u32,
    diagonal: u32,
) -> u32 {
    let (mut low, mut high) = (diagonal.saturating_sub(second_count), diagonal.min(first_count));
    while low < high {
        let middle = u32::midpoint(low, high);
        // SAFETY: middle < first_count, and diagonal - second_count <= middle < diagonal.
        let (a, b) = unsafe { (*first.add(middle as usize), *second.add((diagonal - 1 - middle) as usize)) };
        if a.to_ordered() <= b.to_ordered() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
