//! No loop at all: with at most 1024 threads per block there are at most ten rounds.

use cuda_std::thread;
use rung::rung;

use super::unroll_warps8::sum_last_warp;
use super::unrolling2::sum_items;

/// The number of elements that each thread adds before the rounds.
const ITEMS: usize = 8;

/// `reduce_unroll_warps8` with the rounds of 512, 256, 128 and 64 unrolled. Each round checks at run time whether the
/// block is large enough.
///
/// Unrolling removes the loop's counter and branch. A block of 512 threads still executes the barrier of the round that
/// it skips. ("Reducing with Complete Unrolling", `reduceCompleteUnrollWarps8`.)
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_unroll_warps8,
    lesson = "no loop at all: every round is unrolled and checks the block's size at run time",
    default_block = 512,
    items_per_thread = ITEMS,
    in_place
)]
pub unsafe fn reduce_complete_unroll_warps8(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_dim, block_idx) = (thread::thread_idx_x(), thread::block_dim_x(), thread::block_idx_x());
    let start = block_idx * block_dim * ITEMS as u32;
    let len = (n - start).min(block_dim);
    let slice = input.wrapping_add(start as usize);

    // The same as in `reduce_unrolling8`.
    let first = start + tid;
    // SAFETY: `input` has n elements. No other thread accesses this thread's elements before the barrier.
    unsafe {
        let sum = sum_items::<ITEMS>(input, first, block_dim, n);
        if first < n {
            *slice.add(tid as usize) = sum;
        }
    }
    thread::sync_threads();

    // The change: four `if`s replace the loop.
    for stride in [512, 256, 128, 64] {
        if block_dim >= 2 * stride && tid < stride && tid + stride < len {
            // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
            unsafe { *slice.add(tid as usize) += *slice.add((tid + stride) as usize) };
        }
        thread::sync_threads();
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
