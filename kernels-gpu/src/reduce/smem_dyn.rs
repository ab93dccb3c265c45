//! Dynamic shared memory, whose size the launch chooses.

use cuda_std::{shared, thread};
use rung::rung;

use super::unroll_warps8::sum_last_warp;

/// `reduce_smem` with dynamic shared memory of `BLOCK` words.
///
/// The launch specifies the size, so one kernel can serve tiles of any size. The kernel is as fast as with a size known
/// at compile time.
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_smem,
    lesson = "shared memory sized by the launch is as fast as a size known at compile time",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 128,
    dynamic_shared = BLOCK * 4
)]
pub unsafe fn reduce_smem_dyn<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    // The change: the launch allocates `BLOCK * 4` bytes for the block.
    let tile = shared::dynamic_shared_mem::<i32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());
    let i = block_idx * BLOCK + tid;

    // A thread without an element stores 0, so the tile is full in every round and no round needs a check.
    // SAFETY: the input is read only if i < n, and every thread writes a different word of the tile.
    unsafe { *tile.add(tid as usize) = if i < n { *input.add(i as usize) } else { 0 } };
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
