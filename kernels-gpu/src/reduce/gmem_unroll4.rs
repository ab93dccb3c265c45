//! Four elements per thread in global memory: the baseline for shared memory with four elements.

use cuda_std::thread;
use rung::rung;

use super::unroll_warps8::sum_last_warp;
use super::unrolling2::sum_items;

/// The number of elements that each thread adds before the rounds.
const ITEMS: usize = 4;

/// `reduce_gmem` with four elements per thread.
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_gmem,
    lesson = "all rounds in global memory, with four elements per thread",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 512,
    items_per_thread = ITEMS,
    in_place
)]
pub unsafe fn reduce_gmem_unroll4<const BLOCK: u32>(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());
    let start = block_idx * BLOCK * ITEMS as u32;
    let len = (n - start).min(BLOCK);
    let slice = input.wrapping_add(start as usize);

    // The same as in `reduce_unrolling4`.
    let first = start + tid;
    // SAFETY: `input` has n elements. No other thread accesses this thread's elements before the barrier.
    unsafe {
        let sum = sum_items::<ITEMS>(input, first, BLOCK, n);
        if first < n {
            *slice.add(tid as usize) = sum;
        }
    }
    thread::sync_threads();

    for stride in [512, 256, 128, 64] {
        if BLOCK >= 2 * stride {
            if tid < stride && tid + stride < len {
                // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
                unsafe { *slice.add(tid as usize) += *slice.add((tid + stride) as usize) };
            }
            thread::sync_threads();
        }
    }

    // The same as in `reduce_unroll_warps8`.
    if tid < 32 {
        // SAFETY: all lanes of the first warp call `sum_last_warp`, and no other warp accesses these elements anymore.
        unsafe { sum_last_warp(slice, tid, |stride| tid + stride < len) };
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block. The slice's first element exists unless the slice is empty.
        unsafe { *output.add(block_idx as usize) = if len > 0 { *slice } else { 0 } };
    }
}
