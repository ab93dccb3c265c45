//! Shared code of the one-sweep rungs: the counts of all digits, ranks within a warp, and the words of the tiles.
//!
//! # Words of a pass
//! A tile has a word for each digit in `status`: 30 bits for a count, and two bits for its state. The count is the
//! number of keys with the digit in the tile, or in this tile and all earlier tiles (a prefix). One store writes both
//! the count and the state, so relaxed ordering is enough.
//!
//! The highest bit is 1 in passes with an even number and 0 in passes with an odd number. Each pass writes every word
//! of its tiles, and a launch has an even number of passes. So if this bit of a word has the other value, the word is
//! from the previous pass or from an earlier launch, or was never written. No pass has to clear the words.
//!
//! # Forward progress
//! A block waits for the words of earlier tiles. All blocks of the grid are resident, because they also synchronize at
//! grid barriers, and each block processes its tiles in ascending order. So the block of the smallest unfinished tile
//! waits for no other block. Without residency, blocks would have to take tickets, as in `scan` (see
//! [`status`](crate::scan::status)).

use core::array;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_block, atomic_fetch_add_u32_device, atomic_load_32_device, atomic_store_32_device,
};
use cuda_std::{thread, warp};

use super::counts::DIGIT_BITS;
pub(super) use super::counts::DIGITS;
use super::key::{Key, Ordered, Value};
use crate::operation::Sum;
use crate::scan::shuffle::scan_warp;

/// The number of words in `totals`, which holds the number of occurrences of each digit in each pass, for the passes of
/// a 64-bit key.
pub const TOTALS: u32 = u64::BITS / DIGIT_BITS * DIGITS;

/// Returns the number of passes for keys of type `K`.
pub(super) const fn passes<K: Key>() -> u32 {
    K::KEY_BITS / DIGIT_BITS
}

/// Returns a digit of a key: an index into tables of `DIGITS` words.
#[inline(always)]
pub(super) fn digit<K: Key>(key: Ordered<K>, pass: u32) -> usize {
    K::digit::<DIGIT_BITS>(key, pass * DIGIT_BITS) as usize
}

/// Returns the arrays that a pass reads and writes. The passes write `other` and `output` alternately, and the last
/// pass writes `output`.
#[inline(always)]
pub(super) fn buffers<T>(pass: u32, input: *const T, output: *mut T, other: *mut T) -> (*const T, *mut T) {
    match pass {
        0 => (input, other),
        _ if pass % 2 == 1 => (other, output),
        _ => (output, other),
    }
}

/// Returns the position of this thread's key `item` in the input. Each warp's part of the tile is contiguous, so the
/// keys are ordered by warp, then by item, then by lane.
#[inline(always)]
fn place<const BLOCK: u32, const ITEMS: usize>(tile: u32, item: usize) -> u32 {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    (tile * BLOCK + warp * 32) * ITEMS as u32 + item as u32 * 32 + lane
}

/// Loads this thread's `ITEMS` keys of a tile. Keys from `n` on are replaced by the greatest key, so they come last in
/// the tile in every pass.
///
/// # Safety
/// `keys` has `n` keys, and no thread writes them.
#[inline(always)]
pub(super) unsafe fn load_keys<K: Key, const BLOCK: u32, const ITEMS: usize>(
    keys: *const K,
    tile: u32,
    n: u32,
) -> [Ordered<K>; ITEMS] {
    if (tile + 1) * BLOCK * ITEMS as u32 <= n {
        let first = keys.wrapping_add(place::<BLOCK, ITEMS>(tile, 0) as usize);
        // SAFETY: the whole tile is below n.
        return array::from_fn(|item| unsafe { *first.add(item * 32) }.to_ordered());
    }
    array::from_fn(|item| {
        let i = place::<BLOCK, ITEMS>(tile, item);
        // SAFETY: the key is read only if i < n.
        if i < n { unsafe { *keys.add(i as usize) }.to_ordered() } else { K::GREATEST }
    })
}

/// Loads the values of this thread's keys.
///
/// # Safety
/// `values` has `n` values, and no thread writes them.
#[inline(always)]
pub(super) unsafe fn load_values<V: Value, const BLOCK: u32, const ITEMS: usize>(
    values: *const V,
    tile: u32,
    n: u32,
) -> [V; ITEMS] {
    array::from_fn(|item| {
        let i = place::<BLOCK, ITEMS>(tile, item);
        // SAFETY: the value is read only if i < n.
        if i < n { unsafe { *values.add(i as usize) } } else { V::NONE }
    })
}

/// Counts the digits of all passes: adds the number of occurrences of each digit in this block's tiles to `totals`.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `counts` is shared memory with a word for each digit
/// of each pass, which nothing else uses. `keys` has `n` keys, which no thread writes. All threads access `totals` with
/// atomics.
#[inline(always)]
pub(super) unsafe fn count_digits<K: Key, const BLOCK: u32, const ITEMS: usize>(
    counts: *mut u32,
    keys: *const K,
    totals: *mut u32,
    n: u32,
) {
    let (tid, all_digits) = (thread::thread_idx_x(), passes::<K>() * DIGITS);
    for word in (tid..all_digits).step_by(BLOCK as usize) {
        // SAFETY: the word is in the table, and has one writer before the barrier.
        unsafe { *counts.add(word as usize) = 0 };
    }
    thread::sync_threads();
    let mut tile = thread::block_idx_x();
    while tile < n.div_ceil(BLOCK * ITEMS as u32) {
        // SAFETY: the input has n keys, which no thread writes.
        let items: [Ordered<K>; ITEMS] = unsafe { load_keys::<K, BLOCK, ITEMS>(keys, tile, n) };
        #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
        for item in 0..ITEMS {
            for pass in 0..passes::<K>() {
                if place::<BLOCK, ITEMS>(tile, item) < n {
                    let word = (pass * DIGITS) as usize + digit::<K>(items[item], pass);
                    // SAFETY: the word is in the table. Between the barriers, all threads add to it with atomics.
                    unsafe { atomic_fetch_add_u32_block(counts.add(word), Relaxed, 1) };
                }
            }
        }
        tile += thread::grid_dim_x();
    }
    thread::sync_threads();
    for word in (tid as usize..all_digits as usize).step_by(BLOCK as usize) {
        // SAFETY: the word is in both tables. After the barrier, no thread writes the counts.
        unsafe { atomic_fetch_add_u32_device(totals.add(word), Relaxed, *counts.add(word)) };
    }
}

/// Returns the lanes with the same digit as this lane, found with a vote for each bit. All 32 lanes must call the
/// function together.
///
/// A lane whose bit is 0 inverts the result of the vote. For each bit, `ptxas` generates four instructions from this
/// assembly, and six from the equivalent Rust. (PTX ISA, "vote.sync".)
#[inline(always)]
fn lanes_with(digit: usize) -> u32 {
    let mut lanes = u32::MAX;
    for bit in 0..DIGIT_BITS {
        let set: u32;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the mask names all 32 lanes, and all of them execute the instruction.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred %is_set;",
                ".reg .b32 %bit;",
                "and.b32 %bit, {digit}, {bit};",
                "setp.ne.u32 %is_set, %bit, 0;",
                "vote.sync.ballot.b32 {set}, %is_set, -1;",
                "@!%is_set not.b32 {set}, {set}; }}",
                digit = in(reg32) digit as u32,
                bit = in(reg32) 1 << bit,
                set = out(reg32) set,
                options(nomem, nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = (digit, bit);
            set = !0;
        }
        lanes &= set;
    }
    lanes
}

/// Counts one key per lane. Returns the number of earlier keys of the warp with the digit of this lane's key. Earlier
/// keys are keys of earlier calls and keys of lower lanes.
///
/// # Safety
/// All 32 lanes of a warp call the function together. `counts` is shared memory with `DIGITS` counts, which only this
/// warp uses.
#[inline(always)]
pub(super) unsafe fn rank(counts: *mut u16, digit: usize) -> u32 {
    let lanes = lanes_with(digit);
    let lanes_before = (1 << (thread::thread_idx_x() % 32)) - 1;
    let earlier = (lanes & lanes_before).count_ones();
    // SAFETY: digit < DIGITS. The first lane with a digit writes the digit's word, after all lanes have read the word.
    unsafe {
        let counted = u32::from(*counts.add(digit));
        warp::sync_warp(u32::MAX);
        if earlier == 0 {
            *counts.add(digit) = (counted + lanes.count_ones()) as u16;
        }
        warp::sync_warp(u32::MAX);
        counted + earlier
    }
}

/// Sets the counts of this warp to 0. All 32 lanes must call the function together.
///
/// # Safety
/// `counts` is shared memory with `DIGITS` counts, which only this warp uses until the next barrier.
#[inline(always)]
pub(super) unsafe fn clear(counts: *mut u16) {
    // SAFETY: all 32 lanes synchronize before and after the writes. Each count has one writer.
    unsafe {
        warp::sync_warp(u32::MAX);
        for row in 0..DIGITS / 32 {
            *counts.add((row * 32 + thread::thread_idx_x() % 32) as usize) = 0;
        }
        warp::sync_warp(u32::MAX);
    }
}

/// Returns the sum of the counts of all digits before this thread's digit. Thread `d` has the count of digit `d`, and
/// threads from `DIGITS` on have no digit. The function contains a barrier.
///
/// # Safety
/// All threads of a block call the function together. `warp_sums` is shared memory with a word for each warp, which
/// nothing else uses until the next barrier.
#[inline(always)]
pub(super) unsafe fn counts_before(warp_sums: *mut u32, count: u32) -> u32 {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let sum = scan_warp::<u32, Sum>(count);
    if lane == 31 {
        // SAFETY: `warp_sums` has a word for each warp.
        unsafe { *warp_sums.add(warp as usize) = sum };
    }
    thread::sync_threads();
    let mut before = sum - count;
    for other in 0..DIGITS / 32 {
        // SAFETY: `warp_sums` has a word for each earlier warp, written before the barrier.
        before += if other < warp { unsafe { *warp_sums.add(other as usize) } } else { 0 };
    }
    before
}

/// Publishes the counts of a tile. Replaces each warp's count of a digit with a position in the sorted tile: the start
/// of the warp's keys with this digit. Returns to thread `d` the number of keys with digit `d`, and the number of keys
/// with smaller digits. The function contains block barriers: at the start, in the middle, and at the end.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `counts` is shared memory with `DIGITS` counts for
/// each warp, and `warp_sums` is shared memory with a word for each warp. Nothing else uses this memory before the
/// function returns. The tile has words in `words`.
#[inline(always)]
pub(super) unsafe fn place_digits<const BLOCK: u32>(
    counts: *mut u16,
    warp_sums: *mut u32,
    words: Words,
    tile: u32,
) -> (u32, u32) {
    let digit = thread::thread_idx_x();
    let count_of = |warp: u32| counts.wrapping_add((warp * DIGITS + digit) as usize);
    thread::sync_threads();
    let mut count = 0;
    if digit < DIGITS {
        // SAFETY: the digit has a count for each warp, and no thread writes them before the next barrier.
        count = (0..BLOCK / 32).map(|warp| u32::from(unsafe { *count_of(warp) })).sum();
        // SAFETY: the tile has words, and only this thread writes the word of its digit.
        unsafe { words.publish(tile, digit, count, tile == 0) };
    }
    // SAFETY: all threads of the block call `counts_before`, and `warp_sums` has a word for each warp.
    let smaller = unsafe { counts_before(warp_sums, count) };
    if digit < DIGITS {
        let mut start = smaller as u16;
        for warp in 0..BLOCK / 32 {
            // SAFETY: the digit has a count for each warp, and no other thread accesses them before the barrier.
            unsafe { (*count_of(warp), start) = (start, start + *count_of(warp)) };
        }
    }
    thread::sync_threads();
    (count, smaller)
}

/// Writes the values of this thread's keys to their positions in the sorted tile.
///
/// # Safety
/// `values` has these positions, and no other thread accesses them.
#[inline(always)]
pub(super) unsafe fn put_values<V: Value, const ITEMS: usize>(values: *mut V, places: [u32; ITEMS], moved: [V; ITEMS]) {
    for item in 0..ITEMS {
        // SAFETY: the position exists, and only this thread accesses it.
        unsafe { *values.add(places[item] as usize) = moved[item] };
    }
}

/// Writes the first `count` keys and values of a tile that is sorted by its digits. Key `i` with digit `d` goes to
/// position `offsets[d] + i`.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. The tile has `count` keys, at most `BLOCK * ITEMS`,
/// and no thread writes the tile or the offsets. The positions are in bounds of `to` and `to_values`, and no other
/// thread accesses them.
#[inline(always)]
pub(super) unsafe fn store_tile<K: Key, V: Value, const BLOCK: u32, const ITEMS: usize>(
    tile: (*const Ordered<K>, *const V),
    offsets: *const u32,
    pass: u32,
    count: u32,
    to: (*mut K, *mut V),
) {
    for i in (0..ITEMS as u32).map(|item| item * BLOCK + thread::thread_idx_x()) {
        if i < count {
            // SAFETY: i < count, and no other key has the same position.
            unsafe {
                let key = *tile.0.add(i as usize);
                let place = (*offsets.add(digit::<K>(key, pass))).wrapping_add(i) as usize;
                *to.0.add(place) = K::from_ordered(key);
                *to.1.add(place) = *tile.1.add(i as usize);
            }
        }
    }
}

/// Sets the totals to 0 for the next launch.
///
/// # Safety
/// All blocks of `BLOCK` threads call the function, after all blocks have read the totals.
#[inline(always)]
pub(super) unsafe fn clear_totals<const BLOCK: u32>(totals: *mut u32) {
    if thread::block_idx_x() == 0 {
        for word in (thread::thread_idx_x()..TOTALS).step_by(BLOCK as usize) {
            // SAFETY: no block reads the totals anymore, and each word has one writer.
            unsafe { *totals.add(word as usize) = 0 };
        }
    }
}

/// The status words of the tiles in a pass.
#[derive(Clone, Copy)]
pub(super) struct Words {
    status: *mut u32,
    /// The highest bit of words that this pass writes.
    pass: u32,
}

/// The bit that marks a word with a prefix.
const PREFIX: u32 = 1 << 30;
/// The bits of a word's count.
const COUNT: u32 = PREFIX - 1;

impl Words {
    /// Returns the status words of a pass.
    #[inline(always)]
    pub(super) fn of_pass(status: *mut u32, pass: u32) -> Self {
        Self { status, pass: if pass.is_multiple_of(2) { 1 << 31 } else { 0 } }
    }

    /// Writes a word of a tile, with either the count of the tile's keys or a prefix.
    ///
    /// # Safety
    /// The tile has words, and only this thread writes the word of this digit.
    #[inline(always)]
    pub(super) unsafe fn publish(self, tile: u32, digit: u32, count: u32, is_prefix: bool) {
        let word = self.pass | count | if is_prefix { PREFIX } else { 0 };
        // SAFETY: the tile has words, and all threads access them with atomics.
        unsafe { atomic_store_32_device(self.status.add((tile * DIGITS + digit) as usize), Relaxed, word) };
    }

    /// Returns the number of keys with a digit in all tiles before `tile`. Adds the words of these tiles, the nearest
    /// first, until a word holds a prefix. Reads `AT_ONCE` words at a time.
    ///
    /// # Safety
    /// The blocks of all tiles before `tile` have started. They publish their words without waiting for later tiles.
    #[inline(always)]
    pub(super) unsafe fn look_back<const AT_ONCE: usize>(self, tile: u32, digit: u32) -> u32 {
        let mut before = 0;
        // The tiles from `end` on have already been added.
        let mut end = tile;
        while end > 0 {
            // The first tile always has a prefix. So if fewer than `AT_ONCE` tiles remain, the words after the first
            // tile's word are not used.
            let words: [u32; AT_ONCE] = array::from_fn(|k| {
                let other = end.saturating_sub(1 + k as u32);
                // SAFETY: the tile has words, and all threads access them with atomics.
                unsafe { atomic_load_32_device(self.status.add((other * DIGITS + digit) as usize), Relaxed) }
            });
            let mut is_next = true;
            #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
            for k in 0..AT_ONCE {
                let word = words[k];
                is_next &= (word ^ self.pass) >> 31 == 0;
                if is_next {
                    before += word & COUNT;
                    is_next = word & PREFIX == 0;
                    end = if is_next { end - 1 } else { 0 };
                }
            }
        }
        before
    }
}
