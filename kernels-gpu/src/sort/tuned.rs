//! The one sweep, tuned: larger tiles, the next tile in flight, and several words at a time.

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
const ITEMS: usize = 24;

/// `sort_one_sweep` with three changes that hide or avoid waits.
///
/// - A block loads its next tile as soon as the registers of this tile's keys are free: before the look-back. If there
///   are values, the block loads this tile's values at this point, and the next keys after the look-back.
/// - The look-back reads four words at a time, so it makes a quarter of the trips to the L2 cache.
/// - A tile is twice as large, so there are half the look-backs. A digit has an average of 48 keys per tile instead of
///   24, and fewer sectors are written partially. The cost is registers for the keys: a multiprocessor has one block
///   instead of two.
///
/// Prediction: a pass that hides all waits takes the time of a copy, so four passes and the counts take at least the
/// time of 4.5 copies. Measured on an H100 80GB HBM3, in one run: 2^28 keys in 6.16 ms (CUB 6.45, a copy 0.75), 2^24 in
/// 436 µs (CUB 485), and 2^20 in 60 µs (92). 2^28 keys with values take 8.48 ms (8.81). The votes and the shared memory
/// accesses of the ranks keep the kernel above the predicted minimum. With 16 keys per thread and two blocks per
/// multiprocessor, keys without values take 5 to 8 % less time. Keys with values take 28 % more, because 64 registers
/// are too few for them.
///
/// # Safety
/// See [`sort`](super).
#[rung(
    after = sort_one_sweep,
    lesson = "larger tiles, the next tile in flight during the look-back, and four words per look-back read",
    blocks = [512],
    items_per_thread = ITEMS,
    (K, V) = {
        _: (u32, ()), i32: (i32, ()), f32: (f32, ()), u64: (u64, ()),
        pairs_u32: (u32, u32), pairs_i32: (i32, u32), pairs_f32: (f32, u32), pairs_u64: (u64, u32),
    },
    resident = 1,
    grid = |launch| launch.stride(launch.device.multiprocessors),
    dynamic_shared = BLOCK as usize * ITEMS * (size_of::<Ordered<K>>() + size_of::<V>()),
    single_pass,
    blocks_wait
)]
pub unsafe fn sort_tuned<K: Key, V: Value, const BLOCK: u32>(
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
        let (from, _) = buffers(pass, keys, sorted_keys, other_keys);
        let words = Words::of_pass(status, pass);
        // SAFETY: the totals are complete. All threads of the block call the function, and its shared words are not
        // used yet.
        let start = unsafe {
            let total = if tid < DIGITS { *totals.add((pass * DIGITS + tid) as usize) } else { 0 };
            counts_before(warp_sums, total)
        };
        let mut tile = thread::block_idx_x();
        // SAFETY: `from` has n keys, which no thread writes in this pass. Only this warp uses `warp_counts`.
        let mut items = unsafe {
            clear(warp_counts);
            load_keys::<K, BLOCK, ITEMS>(from, tile, n)
        };
        while tile * tile_size < n {
            let ranks: [u32; ITEMS] = array::from_fn(|item| {
                let digit = digit::<K>(items[item], pass);
                // SAFETY: the lanes of the warp call the function together, and only this warp uses `warp_counts`.
                unsafe { rank(warp_counts, digit) }
            });
            // SAFETY: all threads of the block call `place_digits`, and the tile has words in `words`.
            let (count, smaller) = unsafe { place_digits::<BLOCK>(counts, warp_sums, words, tile) };
            // Without `opaque`, the addresses of the arrays and of words in `warp_counts` would occupy registers during
            // the previous steps.
            let pass = opaque(pass);
            let (from, to) = buffers(pass, keys, sorted_keys, other_keys);
            let (from_values, to_values) = buffers(pass, values, sorted_values, other_values);
            // SAFETY: the positions of the keys in the sorted tile are all different.
            let places: [u32; ITEMS] = array::from_fn(|item| unsafe {
                let place = u32::from(*warp_counts.add(digit::<K>(items[item], pass))) + ranks[item];
                *tile_keys.add(place as usize) = items[item];
                place
            });
            // SAFETY: `from_values` has n values, which no thread writes in this pass. Only this warp uses
            // `warp_counts`.
            let moved = unsafe {
                clear(warp_counts);
                load_values::<V, BLOCK, ITEMS>(from_values, tile, n)
            };
            let next = tile + thread::grid_dim_x();
            if size_of::<V>() == 0 {
                // SAFETY: `from` has n keys, which no thread writes in this pass.
                items = unsafe { load_keys::<K, BLOCK, ITEMS>(from, next, n) };
            }
            if tid < DIGITS {
                // SAFETY: the blocks of all tiles have started, and only this thread writes the words and the offset of
                // its digit.
                unsafe {
                    let before = words.look_back::<4>(tile, tid);
                    words.publish(tile, tid, before + count, true);
                    *offsets.add(tid as usize) = (start + before).wrapping_sub(smaller);
                }
            }
            if size_of::<V>() > 0 {
                // SAFETY: the positions are all different. `from` has n keys, which no thread writes in this pass.
                unsafe {
                    put_values(tile_values, places, moved);
                    items = load_keys::<K, BLOCK, ITEMS>(from, next, n);
                }
            }
            thread::sync_threads();
            let keys_of_tile = tile_size.min(n - tile * tile_size);
            // SAFETY: the sorted tile is complete. All keys have different positions below n in the output.
            unsafe {
                let sorted = (tile_keys.cast_const(), tile_values.cast_const());
                store_tile::<K, V, BLOCK, ITEMS>(sorted, offsets, pass, keys_of_tile, (to, to_values));
            }
            tile = next;
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
