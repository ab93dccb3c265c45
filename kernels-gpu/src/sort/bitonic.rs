//! A bitonic network over the whole array.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::bitonic_block::{ITEMS, exchange, merge};
use super::key::{Key, Value};
use super::pairs::Pairs;
use crate::grid_barrier::GridBarrier;

/// `sort_bitonic_block`, extended to the whole array: the same network merges the sorted sections. If the pairs of a
/// step lie in different sections, the step runs in global memory.
///
/// The previous rung sorts only sections that fit into a block's shared memory. Here a step in global memory reads and
/// writes the whole array, and a grid barrier follows each step. As soon as the pairs lie within sections, the rest of
/// the merge runs in shared memory in one pass. For 2^24 keys in sections of 2^11, the merges take 91 steps in global
/// memory and 13 passes in shared memory. Expect this rung to take as long as about 100 copies of the array.
///
/// # Safety
/// See [`sort`](super).
#[rung(
    after = sort_bitonic_block,
    lesson = "a bitonic network over the whole array: each step with distant pairs is a pass over global memory",
    blocks = [256, 512],
    default_block = 512,
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
pub unsafe fn sort_bitonic<K: Key, V: Value, const BLOCK: u32>(
    keys: *const K,
    values: *const V,
    sorted_keys: *mut K,
    sorted_values: *mut V,
    barrier: *mut u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut KEYS: MaybeUninit<[K; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut VALUES: MaybeUninit<[V; (BLOCK * ITEMS) as usize]> = MaybeUninit::uninit();
    let tile = Pairs::new((&raw mut KEYS).cast::<K>(), (&raw mut VALUES).cast::<V>());
    let sorted = Pairs::new(sorted_keys, sorted_values);
    let (section, blocks) = (BLOCK * ITEMS, thread::grid_dim_x());
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    let mut size = section;
    loop {
        let mut reach = size;
        while reach > section {
            let pairs = n.div_ceil(reach) * (reach / 2);
            let mut pair = thread::block_idx_x() * BLOCK + thread::thread_idx_x();
            while pair < pairs {
                // SAFETY: the pairs of a step are disjoint, and a grid barrier separates the steps.
                unsafe { exchange(sorted, n, pair, reach, reach == size) };
                pair += blocks * BLOCK;
            }
            // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
            unsafe { barrier.wait() };
            reach /= 2;
        }
        let mut start = thread::block_idx_x() * section;
        while start < n {
            let count = (n - start).min(section);
            // SAFETY: the section has `count` keys from `start` on, and only this block accesses the section between
            // two grid barriers.
            unsafe {
                if size == section {
                    Pairs::new(keys, values).at(start).copy_all::<BLOCK>(tile, count);
                    let mut size = 2;
                    while size / 2 < count {
                        merge::<K, V, BLOCK>(tile, count, size, true);
                        size *= 2;
                    }
                } else {
                    sorted.at(start).copy_all::<BLOCK>(tile, count);
                    merge::<K, V, BLOCK>(tile, count, section, false);
                }
                thread::sync_threads();
                tile.copy_all::<BLOCK>(sorted.at(start), count);
            }
            thread::sync_threads();
            start += blocks * section;
        }
        if size >= n {
            break;
        }
        // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
        unsafe { barrier.wait() };
        size *= 2;
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}
