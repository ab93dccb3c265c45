//! Four elements per thread, with dynamic shared memory.

use cuda_std::{shared, thread};
use rung::rung;

use super::unroll_warps8::sum_last_warp;
use super::unrolling2::sum_items;

/// The number of elements that each thread adds before the rounds.
const ITEMS: usize = 4;

/// `reduce_smem_unroll4` with dynamic shared memory, as in `reduce_smem_dyn`.
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_smem_unroll4,
    lesson = "four words per thread, with shared memory sized by the launch",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 128,
    items_per_thread = ITEMS,
    dynamic_shared = BLOCK * 4
)]
pub unsafe fn reduce_smem_unroll4_dyn<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    let tile = shared::dynamic_shared_mem::<i32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());
    let first = block_idx * BLOCK * ITEMS as u32 + tid;

    // The sum of four elements, as in `reduce_unrolling4`, but in a register.
    // SAFETY: `input` has n elements that no thread writes, and every thread writes a different word of the tile.
    unsafe { *tile.add(tid as usize) = sum_items::<ITEMS>(input, first, BLOCK, n) };
    thread::sync_threads();
    for stride in [512, 256, 128, 64] {
        if BLOCK >= 2 * stride {
            if tid < stride {
                // SAFETY: both words are in the tile. In this round, no other thread accesses either word.
                unsafe { *tile.add(tid as usize) += *tile.add((tid + stride) as usize) };
            }
            thread::sync_threads();
        }
    }
    // The same as in `reduce_unroll_warps8`.
    if tid < 32 {
        // SAFETY: all lanes of the first warp call `sum_last_warp`, and the tile has 64 words that no other warp
        // accesses anymore.
        unsafe { sum_last_warp(tile, tid, |_| true) };
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block, and this thread wrote the tile's first word last.
        unsafe { *output.add(block_idx as usize) = *tile };
    }
}
