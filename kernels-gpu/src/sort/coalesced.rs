//! A scatter in long runs.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::counts::{DIGIT_BITS, DIGITS, place, rank_in_tile, scan_block, scan_counts};
use super::digits::count_digits;
use super::key::{Key, Ordered, Value};
use super::pairs::Pairs;
use crate::grid_barrier::GridBarrier;

/// The number of keys per thread. Even with 64-bit keys, the tiles of two 512-thread blocks fit into the shared memory
/// of a multiprocessor.
const ITEMS: u32 = 7;

/// Returns the number of words in a block's buffer, which holds a tile of keys or of values, or the histograms of all
/// warps.
const fn buffer_words<K>(block: u32) -> usize {
    let (tile, histograms) = ((block * ITEMS) as usize * size_of::<K>(), (block / 32 * DIGITS) as usize * 4);
    (if tile > histograms { tile } else { histograms }) / 8
}

/// `sort_digits`, except that each tile is first sorted by its digit in shared memory.
///
/// Keys of one tile that have the same digit go to consecutive positions. In the previous rung, different warps write
/// these keys at different times. Here the block first puts its keys in the order of their digits. Then neighboring
/// lanes write neighboring positions: with 3584 random keys and 256 digits, in runs of 14 keys on average. For 2^20 + 3
/// random keys, the simulator counts 7.7 sectors per store of a warp instead of 26.7. The values follow their keys
/// through the same buffer. (Satish, Harris and Garland 2009, section 4; Merrill and Grimshaw 2011, section 3.)
///
/// # Safety
/// See [`sort`](super).
#[rung(
    after = sort_digits,
    lesson = "the tile is sorted by its digit in shared memory, so lanes with the same digit write neighboring places",
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
pub unsafe fn sort_coalesced<K: Key, V: Value, const BLOCK: u32>(
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
    static mut BUFFER: MaybeUninit<[u64; buffer_words::<K>(BLOCK)]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut STARTS: MaybeUninit<[[u32; DIGITS as usize]; 2]> = MaybeUninit::uninit();
    let shared = Shared {
        warp_sums: (&raw mut WARP_SUMS).cast(),
        buffer: (&raw mut BUFFER).cast(),
        starts: (&raw mut STARTS).cast(),
    };
    let (first, blocks) = (thread::block_idx_x(), thread::grid_dim_x() as usize);
    let tiles = n.div_ceil(BLOCK * ITEMS);
    // The number of passes is even, so the last pass writes the sorted keys.
    let (mut from, mut to) = (Pairs::new(keys, values), Pairs::new(other_keys, other_values));
    let mut next = Pairs::new(sorted_keys, sorted_values);
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        for index in (first..tiles).step_by(blocks) {
            // SAFETY: all threads of the block call `count_digits`. The tile has a column in the table, and only this
            // block counts the tile.
            unsafe { count_digits::<K, BLOCK, ITEMS>(shared.buffer.cast(), from.keys, n, index, shift, counts) };
        }
        // SAFETY: all threads of the grid call this function, and all blocks are resident.
        unsafe { scan_counts::<BLOCK>(&mut barrier, shared.warp_sums, counts, DIGITS * tiles, sums) };
        for index in (first..tiles).step_by(blocks) {
            // SAFETY: all threads of the block call `scatter`. Only this block scatters the tile, and the counts are
            // scanned.
            unsafe { scatter::<K, V, BLOCK>(shared, from, to, counts, index, shift, n) };
        }
        // SAFETY: all threads of the grid call this function, and all blocks are resident.
        unsafe { barrier.wait() };
        (from, to, next) = (to, next, to);
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
struct Shared {
    /// A word for each warp.
    warp_sums: *mut i32,
    /// `buffer_words` 64-bit words.
    buffer: *mut u64,
    /// For each digit: first the position in the buffer at which the digit's keys start, and later the distance from
    /// this position to the keys' position in the array.
    starts: *mut u32,
}

/// Moves a tile's keys to their positions. Ends with a barrier.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. Nothing else accesses `shared` during the call. The
/// arrays have `n` keys, no thread writes the arrays of `from`, and `counts` is the scanned table of this pass.
#[inline(always)]
unsafe fn scatter<K: Key, V: Value, const BLOCK: u32>(
    shared: Shared,
    from: Pairs<K, V>,
    to: Pairs<K, V>,
    counts: *const u32,
    index: u32,
    shift: u32,
    n: u32,
) {
    let (tid, start, tiles) = (thread::thread_idx_x(), index * BLOCK * ITEMS, n.div_ceil(BLOCK * ITEMS));
    let (count, distances) = ((n - start).min(BLOCK * ITEMS), shared.starts.wrapping_add(DIGITS as usize));
    // Positions after the last key have the greatest digit, so their ranks follow the ranks of all keys.
    let keys: [Ordered<K>; ITEMS as usize] = array::from_fn(|k| {
        let i = start + place(ITEMS, k as u32);
        // SAFETY: a key is read only if i < n, and no thread writes these keys in this pass.
        if i < n { unsafe { from.ordered(i) } } else { K::GREATEST }
    });
    let digits = keys.map(|key| K::digit::<DIGIT_BITS>(key, shift));
    // SAFETY: all threads of the block call both functions. After the barrier of the scan, all threads have their
    // ranks, and the buffer is free.
    let (ranks, first) = unsafe {
        let (ranks, total) = rank_in_tile::<BLOCK, { ITEMS as usize }>(shared.buffer.cast(), digits);
        (ranks, scan_block::<BLOCK>(shared.warp_sums, total).0)
    };
    if tid < DIGITS {
        // SAFETY: both arrays have a word for each digit, and the table has a row for each digit.
        unsafe {
            *shared.starts.add(tid as usize) = first;
            *distances.add(tid as usize) = (*counts.add((tid * tiles + index) as usize)).wrapping_sub(first);
        }
    }
    thread::sync_threads();
    // SAFETY: a digit is below `DIGITS`. Each position in the tile has one key, and all keys of the tile fit in the
    // buffer.
    let places: [u32; ITEMS as usize] = array::from_fn(|k| unsafe {
        let place = *shared.starts.add(digits[k] as usize) + ranks[k];
        *shared.buffer.cast::<Ordered<K>>().add(place as usize) = keys[k];
        place
    });
    thread::sync_threads();
    let targets: [u32; ITEMS as usize] = array::from_fn(|k| {
        let place = tid + k as u32 * BLOCK;
        if place >= count {
            return 0;
        }
        // SAFETY: there is a key at this position, and no other key has the same target in this pass.
        unsafe {
            let key = *shared.buffer.cast::<Ordered<K>>().add(place as usize);
            let target = (*distances.add(K::digit::<DIGIT_BITS>(key, shift) as usize)).wrapping_add(place);
            *to.keys.add(target as usize) = K::from_ordered(key);
            target
        }
    });
    thread::sync_threads();
    if size_of::<V>() == 0 {
        return;
    }
    for (k, place_in_buffer) in places.into_iter().enumerate() {
        let i = start + place(ITEMS, k as u32);
        if i < n {
            // SAFETY: i < n, and each position has one writer.
            unsafe { *shared.buffer.cast::<V>().add(place_in_buffer as usize) = *from.values.add(i as usize) };
        }
    }
    thread::sync_threads();
    for (k, target) in targets.into_iter().enumerate() {
        let place = tid + k as u32 * BLOCK;
        if place < count {
            // SAFETY: `place` is in the buffer. `target` is the position of the value's key, so it is in the array and
            // has one writer.
            unsafe { *to.values.add(target as usize) = *shared.buffer.cast::<V>().add(place as usize) };
        }
    }
    thread::sync_threads();
}
