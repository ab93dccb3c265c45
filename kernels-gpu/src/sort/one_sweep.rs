//! One sweep: a pass reads and writes each key once, because tiles find their positions by look-back.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, shared, thread};
use rung::rung;

use super::key::{Key, Ordered, Value};
use super::sweep::{
    DIGITS, Words, buffers, clear, clear_totals, count_digits, counts_before, digit, load_keys, load_values, passes,
    place_digits, put_values, rank, store_tile,
};
use crate::grid_barrier::GridBarrier;
use crate::tensor_core::opaque;

/// The number of keys per thread in each tile.
const ITEMS: usize = 12;

/// A pass of `sort_coalesced` reads the keys twice: to count the digits of each tile, and to scatter the keys. Here one
/// sweep both counts and scatters. A block counts the digits of its tile and publishes the counts. Then the block looks
/// back over the counts of earlier tiles, as in `scan_look_back`, with one look-back for each digit. So the block knows
/// how many keys with each digit are in earlier tiles, while its keys are still in registers.
///
/// Keys with smaller digits in later tiles also go before this tile's keys, but a look-back cannot count them.
/// Therefore, the kernel counts the digits of all passes once, before the first pass. With four passes, a key is read
/// five times and written four times.
///
/// Within a tile, a key's rank is the number of earlier keys with its digit. Each warp ranks 32 keys at a time. Votes
/// find the lanes with the same digit, and a counter for each digit holds the number of earlier keys. (Adinets and
/// Merrill, *Onesweep: A Faster Least Significant Digit Radix Sort for GPUs*, 2022.)
///
/// # Safety
/// See [`sort`](super).
#[rung(
    after = sort_coalesced,
    lesson = "blocks look back at the counts of earlier tiles, so a pass reads and writes each key once",
    blocks = [512],
    items_per_thread = ITEMS,
    (K, V) = {
        _: (u32, ()), i32: (i32, ()), f32: (f32, ()), u64: (u64, ()),
        pairs_u32: (u32, u32), pairs_i32: (i32, u32), pairs_f32: (f32, u32), pairs_u64: (u64, u32),
    },
    resident = 2,
    grid = |launch| launch.stride(2 * launch.device.multiprocessors),
    dynamic_shared = BLOCK as usize * ITEMS * (size_of::<Ordered<K>>() + size_of::<V>()),
    single_pass,
    blocks_wait
)]
pub unsafe fn sort_one_sweep<K: Key, V: Value, const BLOCK: u32>(
    keys: *const K,
    values: *const V,
    sorted_keys: *mut K,
    sorted_values: *mut V,
    other_keys: *mut K,
    other_values: *mut V,
    totals: *mut u32,
    status: *mut u32,
    barrier: *mut u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut COUNTS: MaybeUninit<[[u16; DIGITS as usize]; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut OFFSETS: MaybeUninit<[u32; DIGITS as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[u32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let (counts, offsets) = ((&raw mut COUNTS).cast::<u16>(), (&raw mut OFFSETS).cast::<u32>());
    let (warp_sums, tile_keys) = ((&raw mut WARP_SUMS).cast::<u32>(), shared::dynamic_shared_mem::<Ordered<K>>());
    let tile_values = tile_keys.wrapping_add(BLOCK as usize * ITEMS).cast::<V>();
    let (tid, tile_size) = (thread::thread_idx_x(), BLOCK * ITEMS as u32);
    let warp_counts = counts.wrapping_add((tid / 32 * DIGITS) as usize);
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    // SAFETY: all threads of the block call the function, and the memory of the tile is not used yet. All blocks are
    // resident.
    unsafe {
        count_digits::<K, BLOCK, ITEMS>(tile_keys.cast(), keys, totals, n);
        barrier.wait();
    }
    for pass in 0..opaque(passes::<K>()) {
        let words = Words::of_pass(status, pass);
        // SAFETY: the totals are complete. All threads of the block call the function, and its shared words are not
        // used yet.
        let start = unsafe {
            let total = if tid < DIGITS { *totals.add((pass * DIGITS + tid) as usize) } else { 0 };
            counts_before(warp_sums, total)
        };
        let mut tile = thread::block_idx_x();
        while tile * tile_size < n {
            let (from, to) = buffers(pass, keys, sorted_keys, other_keys);
            let (from_values, to_values) = buffers(pass, values, sorted_values, other_values);
            // SAFETY: `from` and `from_values` have n elements, which no thread writes in this pass.
            let (items, moved) = unsafe {
                let items: [Ordered<K>; ITEMS] = load_keys::<K, BLOCK, ITEMS>(from, tile, n);
                (items, load_values::<V, BLOCK, ITEMS>(from_values, tile, n))
            };
            // SAFETY: the lanes of the warp call the function together, and only this warp uses `warp_counts`.
            unsafe { clear(warp_counts) };
            let ranks: [u32; ITEMS] = array::from_fn(|item| {
                let digit = digit::<K>(items[item], pass);
                // SAFETY: the lanes of the warp call the function together, and only this warp uses `warp_counts`.
                unsafe { rank(warp_counts, digit) }
            });
            // SAFETY: all threads of the block call `place_digits`, and the tile has words in `words`.
            let (count, smaller) = unsafe { place_digits::<BLOCK>(counts, warp_sums, words, tile) };
            // Without `opaque`, the addresses in `warp_counts` would stay in registers from `rank` on.
            let pass = opaque(pass);
            // SAFETY: the positions of the keys in the sorted tile are all different.
            let places: [u32; ITEMS] = array::from_fn(|item| unsafe {
                let place = u32::from(*warp_counts.add(digit::<K>(items[item], pass))) + ranks[item];
                *tile_keys.add(place as usize) = items[item];
                place
            });
            // SAFETY: the positions are all different.
            unsafe { put_values(tile_values, places, moved) };
            if tid < DIGITS {
                // SAFETY: the blocks of all tiles have started, and only this thread writes the words and the offset of
                // its digit.
                unsafe {
                    let before = words.look_back::<1>(tile, tid);
                    words.publish(tile, tid, before + count, true);
                    *offsets.add(tid as usize) = (start + before).wrapping_sub(smaller);
                }
            }
            thread::sync_threads();
            let keys_of_tile = tile_size.min(n - tile * tile_size);
            // SAFETY: the sorted tile is complete. All keys have different positions below n in the output.
            unsafe {
                let sorted = (tile_keys.cast_const(), tile_values.cast_const());
                store_tile::<K, V, BLOCK, ITEMS>(sorted, offsets, pass, keys_of_tile, (to, to_values));
            }
            tile += thread::grid_dim_x();
        }
        // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
        unsafe { barrier.wait() };
    }
    // SAFETY: no block reads the totals after the last barrier. Each block calls `finish` once.
    unsafe {
        clear_totals::<BLOCK>(totals);
        barrier.finish();
    }
}
