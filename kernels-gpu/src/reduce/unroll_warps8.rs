//! The last warp without a loop and without block-wide barriers.

use cuda_std::{thread, warp};
use rung::rung;

use super::unrolling2::sum_items;

/// The number of elements that each thread adds before the rounds.
const ITEMS: usize = 8;

/// `reduce_unrolling8`, but the loop stops at 64 sums. One warp runs the remaining six rounds, without block-wide
/// barriers.
///
/// Every warp executes six fewer barriers and skips the loop control of rounds in which 31 of 32 warps would only wait.
/// The article measures 5.3 times the first rung's speed and fewer warps stalled at barriers.
///
/// The article's kernel relies on lockstep and writes `vmem[tid] += vmem[tid + 16]`. Since Volta, the threads of a warp
/// no longer run in lockstep: lane 16 may write its element before lane 0 has read it. Here `sync_warp` separates the
/// reads of a round from its writes. As in the article, lanes beyond the stride also add, although no result depends on
/// their sums. These additions are cheaper than a branch. ("Reducing with Unrolled Warps", `reduceUnrollWarps8`.)
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_unrolling8,
    lesson = "one warp runs the last six rounds, unrolled and without block-wide barriers",
    default_block = 512,
    items_per_thread = ITEMS,
    published = 5.3 over reduce_neighbored,
    in_place
)]
pub unsafe fn reduce_unroll_warps8(input: *mut i32, output: *mut i32, n: u32) {
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

    let mut stride = block_dim / 2;
    while stride > 32 {
        if tid < stride && tid + stride < len {
            // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
            unsafe { *slice.add(tid as usize) += *slice.add((tid + stride) as usize) };
        }
        thread::sync_threads();
        stride /= 2;
    }

    // The change: the first warp does the rest.
    if tid < 32 {
        // SAFETY: all lanes of the first warp call `sum_last_warp`, and no other warp accesses these elements anymore.
        unsafe { sum_last_warp(slice, tid, |stride| tid + stride < len) };
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block. The slice's first element exists unless the slice is empty.
        unsafe { *output.add(block_idx as usize) = if len > 0 { *slice } else { 0 } };
    }
}

/// Adds 64 elements into the first element with one warp, in six rounds without a block-wide barrier. `exists(stride)`
/// returns whether the element `stride` positions after the lane's element exists.
///
/// # Safety
/// All lanes of one warp call the function together, and each lane passes its number. During the call, no other warp
/// accesses the elements. A barrier separates all earlier writes to the elements from the call.
#[inline(always)]
pub(super) unsafe fn sum_last_warp(data: *mut i32, lane: u32, exists: impl Fn(u32) -> bool) {
    let word = data.wrapping_add(lane as usize);
    for stride in [32, 16, 8, 4, 2, 1] {
        // SAFETY: both elements are accessed only if they exist. The two warp barriers separate the reads of a round
        // from its writes. The accesses are volatile, so each round reads the values that the previous round wrote to
        // memory.
        unsafe {
            let mut sum = 0;
            if exists(stride) {
                sum = word.read_volatile() + word.add(stride as usize).read_volatile();
            }
            warp::sync_warp(u32::MAX);
            if exists(stride) {
                word.write_volatile(sum);
            }
            warp::sync_warp(u32::MAX);
        }
    }
}
