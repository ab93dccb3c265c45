//! Merge sort with merge paths.

use core::array;
use core::mem::{MaybeUninit, swap};

use cuda_std::{address_space, thread};
use rung::rung;

use super::key::{Key, Value};
use super::pairs::Pairs;
use crate::grid_barrier::GridBarrier;

/// The number of neighboring keys per thread. It is odd so that the first keys of a warp's lanes are in different
/// banks.
const ITEMS: u32 = 5;

/// Blocks sort tiles, and each pass over the array merges pairs of sorted runs into runs of twice the length.
///
/// The network of `sort_bitonic` needs about `n log2² n / 4` comparisons, because its pairs do not depend on the keys.
/// A merge that depends on the keys doubles the length of the runs in one pass. Every thread writes the same number of
/// keys of the result. A binary search finds where these keys start in both runs. Of the first `d` keys of the result,
/// `i` are from the first run and `d - i` from the second run. The search finds `i`. First the threads of the grid
/// search for the parts of all tiles. Then a block loads the parts of a tile, and its threads search in the tile. Among
/// equal keys, the keys of the first run come first, so the sort is stable. For 2^24 keys there are 13 passes. Expect
/// them to take as long as about 14 copies of the array, plus the time of the searches. (Green, McColl and Bader, *GPU
/// Merge Path*, 2012; Satish, Harris and Garland, *Designing Efficient Sorting Algorithms for Manycore GPUs*, 2009,
/// section 5.)
///
/// # Safety
/// See [`sort`](super).
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
    counts: *mut u32,
    barrier: *mut u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut KEYS: MaybeUninit<[K; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut VALUES: MaybeUninit<[V; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    let shared = Pairs::new((&raw mut KEYS).cast::<K>(), (&raw mut VALUES).cast::<V>());
    let (tid, first_tile, blocks) = (thread::thread_idx_x(), thread::block_idx_x(), thread::grid_dim_x());
    let (tile, tiles) = (BLOCK * ITEMS, n.div_ceil(BLOCK * ITEMS));
    let (mut to, mut from) = (Pairs::new(sorted_keys, sorted_values), Pairs::new(other_keys, other_values));
    if tiles.next_power_of_two().trailing_zeros() % 2 == 1 {
        // The passes alternate between the buffers. An odd number of passes starts in the other buffer.
        swap(&mut to, &mut from);
    }
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    for index in (first_tile..tiles).step_by(blocks as usize) {
        let (start, count) = (index * tile, (n - index * tile).min(tile));
        // SAFETY: the tile has `count` keys from `start` on, and only this block accesses the tile.
        unsafe {
            Pairs::new(keys, values).at(start).copy_all::<BLOCK>(shared, count);
            sort_tile(shared, count);
            shared.copy_all::<BLOCK>(to.at(start), count);
        }
        thread::sync_threads();
    }
    let mut width = 1;
    while width < tiles {
        let runs = |index: u32| {
            let first = (index & !(2 * width - 1)) * tile;
            (first, (first + width * tile).min(n), (first + 2 * width * tile).min(n))
        };
        // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
        unsafe { barrier.wait() };
        swap(&mut to, &mut from);
        let mut index = first_tile * BLOCK + tid;
        while index < tiles {
            let (first, middle, end) = runs(index);
            // SAFETY: the previous pass sorted the runs that start at `first` and `middle`. The count of a tile has one
            // writer.
            unsafe {
                *counts.add(index as usize) =
                    merge_path(from.at(first), middle - first, from.at(middle), end - middle, index * tile - first);
            }
            index += blocks * BLOCK;
        }
        // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
        unsafe { barrier.wait() };
        for index in (first_tile..tiles).step_by(blocks as usize) {
            let ((first, middle, end), start) = (runs(index), index * tile);
            let count = (end - start).min(tile);
            // SAFETY: the counts of all tiles are complete. The tile's parts are `part` keys of the first run and the
            // rest of its `count` keys from the second run. Only this block merges the tile.
            unsafe {
                let before = *counts.add(index as usize);
                let is_last = start + count == end;
                let part = if is_last { middle - first } else { *counts.add(index as usize + 1) } - before;
                from.at(first + before).copy_all::<BLOCK>(shared, part);
                from.at(middle + (start - first - before)).copy_all::<BLOCK>(shared.at(part), count - part);
                merge(shared, part, count, tid * ITEMS);
                thread::sync_threads();
                shared.copy_all::<BLOCK>(to.at(start), count);
            }
            thread::sync_threads();
        }
        width *= 2;
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}

/// Sorts a tile in shared memory. Starts and ends with a barrier.
///
/// # Safety
/// All threads of the block call the function together. `tile` is shared memory with `count` elements, at most `ITEMS`
/// for each thread, which only this block accesses.
#[inline(always)]
unsafe fn sort_tile<K: Key, V: Value>(tile: Pairs<K, V>, count: u32) {
    let tid = thread::thread_idx_x();
    thread::sync_threads();
    // The thread sorts its keys. The sort is stable, because it swaps only neighbors in the wrong order.
    for round in 0..ITEMS {
        for k in (round % 2..ITEMS - 1).step_by(2) {
            let place = tid * ITEMS + k;
            // SAFETY: keys are accessed only if place + 1 < count, and only this thread accesses both places.
            unsafe {
                if place + 1 < count && tile.ordered(place) > tile.ordered(place + 1) {
                    tile.swap(place, place + 1);
                }
            }
        }
    }
    let mut width = 1;
    while width * ITEMS < count {
        let first = ((tid & !(2 * width - 1)) * ITEMS).min(count);
        let (middle, end) = ((width * ITEMS).min(count - first), (2 * width * ITEMS).min(count - first));
        // SAFETY: the runs of this thread's pair are sorted, and all threads of the block call `merge`.
        unsafe { merge(tile.at(first), middle, end, tid * ITEMS - first) };
        width *= 2;
    }
    thread::sync_threads();
}

/// Merges two runs in shared memory: positions 0 to `middle`, and positions `middle` to `end`. This thread writes the
/// `ITEMS` keys of the result that start at position `diagonal`. The function starts with a barrier.
///
/// # Safety
/// All threads of the block call the function together. The threads that merge the same runs use all multiples of
/// `ITEMS` below `end` as diagonals. `runs` is shared memory with `end` elements, and both runs are sorted.
#[inline(always)]
unsafe fn merge<K: Key, V: Value>(runs: Pairs<K, V>, middle: u32, end: u32, diagonal: u32) {
    thread::sync_threads();
    let merged = if diagonal < end {
        // SAFETY: both runs are sorted and complete, and diagonal < end.
        let mut first = unsafe { merge_path(runs, middle, runs.at(middle), end - middle, diagonal) };
        let (mut second, mut place) = (middle + diagonal - first, 0);
        // The closure captures separate addresses, because capturing `runs` would put `runs` into local memory.
        let Pairs { keys, values } = runs;
        Some(array::from_fn::<(K, V), { ITEMS as usize }, _>(|_| {
            // SAFETY: a key is read only if its position is below the end of its run. After the last key of a run, the
            // thread reads the last key again.
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
        }))
    } else {
        None
    };
    thread::sync_threads();
    let Some(merged) = merged else { return };
    #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
    for k in 0..ITEMS as usize {
        let place = diagonal + k as u32;
        if place < end {
            let Pairs { keys, values } = runs.at(place);
            // SAFETY: place < end, and each position has one writer after the barrier.
            unsafe { (*keys, *values) = merged[k] };
        }
    }
}

/// Returns the number of keys from the first run among the first `diagonal` keys of the merged runs.
///
/// # Safety
/// Both runs are sorted and have these lengths, and no thread writes them. `diagonal` is at most the sum of the
/// lengths.
#[inline(always)]
unsafe fn merge_path<K: Key, V: Value>(
    first: Pairs<K, V>,
    first_count: u32,
    second: Pairs<K, V>,
    second_count: u32,
    diagonal: u32,
) -> u32 {
    let (mut low, mut high) = (diagonal.saturating_sub(second_count), diagonal.min(first_count));
    while low < high {
        let middle = u32::midpoint(low, high);
        // SAFETY: middle < first_count, and diagonal - second_count <= middle < diagonal.
        if unsafe { first.ordered(middle) <= second.ordered(diagonal - 1 - middle) } {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
