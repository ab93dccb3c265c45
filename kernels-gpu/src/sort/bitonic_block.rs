//! A bitonic network in shared memory.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::key::{Key, Value};
use super::pairs::Pairs;

/// The number of keys per thread.
pub(super) const ITEMS: u32 = 4;

/// Each block sorts its section in shared memory: runs of 1, 2, 4, … sorted keys are merged into runs of twice the
/// length.
///
/// A merge compares keys in pairs and swaps a pair that is in the wrong order. The first step of a merge compares the
/// first run with the reversed second run. It compares key `i` of a pair of runs with key `size - 1 - i`. The next
/// steps compare keys that are `size / 4`, `size / 8`, … apart. The pairs do not depend on the keys, so all threads
/// work in every step. A section of 2^11 keys needs 66 steps, with a barrier before each step. In this form of the
/// network, the smaller key always moves to the lower position. So a comparison with a position after the last key
/// would change nothing, and the kernel omits such comparisons. (Batcher, *Sorting Networks and Their Applications*,
/// 1968.)
///
/// # Safety
/// See [`sort`](super).
#[rung(
    lesson = "a bitonic network in shared memory: every comparison is known in advance; each step needs a barrier",
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
    let tile = Pairs::new((&raw mut KEYS).cast::<K>(), (&raw mut VALUES).cast::<V>());
    let start = thread::block_idx_x() * BLOCK * ITEMS;
    let count = n.saturating_sub(start).min(BLOCK * ITEMS);

    // SAFETY: the section has `count` keys from `start` on, and no thread writes the input.
    unsafe { Pairs::new(keys, values).at(start).copy_all::<BLOCK>(tile, count) };
    let mut size = 2;
    while size / 2 < count {
        // SAFETY: all threads of the block call `merge` with the block's section.
        unsafe { merge::<K, V, BLOCK>(tile, count, size, true) };
        size *= 2;
    }
    thread::sync_threads();
    // SAFETY: the section has `count` keys from `start` on, and no other block writes this section.
    unsafe { tile.copy_all::<BLOCK>(Pairs::new(sorted_keys, sorted_values).at(start), count) };
}

/// Merges the runs of a section in shared memory into runs of `size` keys. The function starts with a barrier. The
/// first step is reversed if `is_reversed`.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `tile` is shared memory with `count` elements, at most
/// `BLOCK * ITEMS`, which only this block accesses.
#[inline(always)]
pub(super) unsafe fn merge<K: Key, V: Value, const BLOCK: u32>(
    tile: Pairs<K, V>,
    count: u32,
    size: u32,
    is_reversed: bool,
) {
    let (mut size, mut is_reversed) = (size, is_reversed);
    while size > 1 {
        thread::sync_threads();
        for k in 0..ITEMS / 2 {
            // SAFETY: the pairs of a step are disjoint, and a barrier separates the steps.
            unsafe { exchange(tile, count, thread::thread_idx_x() + k * BLOCK, size, is_reversed) };
        }
        (size, is_reversed) = (size / 2, false);
    }
}

/// Puts the two keys of a pair in order, with their values. Each run of `size` positions consists of pairs. A pair is
/// the positions `i` and `size - 1 - i` if `is_reversed`, and `i` and `i + size / 2` otherwise. A pair that extends
/// beyond the `count` keys stays unchanged.
///
/// # Safety
/// `pairs` has `count` elements, and no other thread accesses the elements of this pair.
#[inline(always)]
pub(super) unsafe fn exchange<K: Key, V: Value>(
    pairs: Pairs<K, V>,
    count: u32,
    pair: u32,
    size: u32,
    is_reversed: bool,
) {
    let offset = pair & (size / 2 - 1);
    let run = 2 * (pair - offset);
    let low = run + offset;
    let high = run + if is_reversed { size - 1 - offset } else { size / 2 + offset };
    // SAFETY: keys are accessed only if low < high < count.
    unsafe {
        if high < count && pairs.ordered(low) > pairs.ordered(high) {
            pairs.swap(low, high);
        }
    }
}
