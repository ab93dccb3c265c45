//! A bitonic network in shared memory.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::key::{Key, Value};

/// Keys of a thread.
pub(super) const ITEMS: u32 = 4;

/// Each block sorts its section in shared memory: runs of 1, 2, 4, … sorted keys are merged to runs of twice as many.
///
/// A merge compares keys in pairs and swaps those in the wrong order. Its first step compares the first run with the
/// reversed second one: key `i` of a pair of runs with key `size - 1 - i`. The next steps compare keys that are `size / 4`,
/// `size / 8`, … apart. All pairs are known before the keys are, so no lane waits for the comparisons of another one. A
/// section of 2^11 keys needs 66 steps, with a barrier after each. In this form of the network the smaller key always moves
/// to the smaller place, so places beyond the last key need no keys: comparisons with them do nothing.
/// (Batcher, *Sorting Networks and Their Applications*, 1968.)
///
/// # Safety
/// As [`sort`](super) says.
#[rung(
    lesson = "a bitonic network in shared memory: every comparison is known in advance, one barrier per step",
    blocks = [256, 512],
    default_block = 512,
    items_per_thread = ITEMS,
    (K, V) = {
        _: (u32, ()), i32: (i32, ()), f32: (f32, ()), u64: (u64, ()),
        pairs_u32: (u32, u32), pairs_i32: (i32, u32), pairs_f32: (f32, u32), pairs_u64: (u64, u32),
    }
)]
pub unsafe fn sort_bitonic_block<K: Key, V: Value, const BLOCK: u32>(
    keys: *const K,
    values: *const V,
    sorted_keys: *mut K,
    sorted_values: *mut V,
    n: u32,
) {
    #[address_space(shared)]
    static mut KEYS: MaybeUninit<[K; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut VALUES: MaybeUninit<[V; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    let (tile_keys, tile_values) = ((&raw mut KEYS).cast::<K>(), (&raw mut VALUES).cast::<V>());
    let start = (thread::block_idx_x() * BLOCK * ITEMS) as usize;
    let count = n.saturating_sub(start as u32).min(BLOCK * ITEMS);

    // SAFETY: the section's keys start at `start` < n, or `count` is 0.
    unsafe { copy::<K, V, BLOCK>(keys.add(start), values.add(start), tile_keys, tile_values, count) };
    let mut size = 2;
    while size / 2 < count {
        // SAFETY: the whole block calls it with its section.
        unsafe { merge::<K, V, BLOCK>(tile_keys, tile_values, count, size, true) };
        size *= 2;
    }
    thread::sync_threads();
    // SAFETY: as above, and no other block writes this section.
    unsafe {
        copy::<K, V, BLOCK>(tile_keys, tile_values, sorted_keys.add(start), sorted_values.add(start), count);
    }
}

/// Copies `count` keys and values. Neighboring threads have neighboring keys.
///
/// # Safety
/// All threads of a block of `BLOCK` call it together. All pointers have `count` elements. No thread writes the first two, and
/// nothing else accesses the others.
#[inline(always)]
pub(super) unsafe fn copy<K: Key, V: Value, const BLOCK: u32>(
    keys: *const K,
    values: *const V,
    to_keys: *mut K,
    to_values: *mut V,
    count: u32,
) {
    for i in (thread::thread_idx_x()..count).step_by(BLOCK as usize) {
        // SAFETY: i < count, and each place has one writer.
        unsafe {
            *to_keys.add(i as usize) = *keys.add(i as usize);
            *to_values.add(i as usize) = *values.add(i as usize);
        }
    }
}

/// Merges the runs of a section in shared memory to runs of `size` keys. Begins with a reversed step if `is_reversed`, and
/// with a barrier in any case.
///
/// # Safety
/// All threads of a block of `BLOCK` call it together. `keys` and `values` are shared memory with `count` elements, at most
/// `BLOCK * ITEMS`, which only this block accesses.
#[inline(always)]
pub(super) unsafe fn merge<K: Key, V: Value, const BLOCK: u32>(
    keys: *mut K,
    values: *mut V,
    count: u32,
    size: u32,
    is_reversed: bool,
) {
    let (mut size, mut is_reversed) = (size, is_reversed);
    while size > 1 {
        thread::sync_threads();
        for k in 0..ITEMS / 2 {
            // SAFETY: the pairs of a step have no place in common, and a barrier separates the steps.
            unsafe { exchange(keys, values, count, thread::thread_idx_x() + k * BLOCK, size, is_reversed) };
        }
        (size, is_reversed) = (size / 2, false);
    }
}

/// Puts the two keys of a pair in order, with their values. A step has pairs in each run of `size` places: of the places
/// `i` and `size - 1 - i` if `is_reversed`, and of `i` and `i + size / 2` otherwise. A pair that reaches beyond the `count`
/// keys is left alone.
///
/// # Safety
/// `keys` and `values` have `count` elements, and no other thread accesses those of this pair.
#[inline(always)]
pub(super) unsafe fn exchange<K: Key, V: Value>(
    keys: *mut K,
    values: *mut V,
    count: u32,
    pair: u32,
    size: u32,
    is_reversed: bool,
) {
    let offset = pair & (size / 2 - 1);
    let run = 2 * (pair - offset);
    let low = (run + offset) as usize;
    let high = (run + if is_reversed { size - 1 - offset } else { size / 2 + offset }) as usize;
    if high < count as usize {
        // SAFETY: low < high < count.
        unsafe {
            let (first, second) = (*keys.add(low), *keys.add(high));
            if first.to_ordered() > second.to_ordered() {
                (*keys.add(low), *keys.add(high)) = (second, first);
                (*values.add(low), *values.add(high)) = (*values.add(high), *values.add(low));
            }
        }
    }
}
