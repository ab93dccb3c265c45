//! Eight elements per thread before the rounds.

use cuda_std::thread;
use rung::rung;

use super::unrolling2::sum_items;

/// The number of elements that each thread adds before the rounds.
const ITEMS: usize = 8;

/// A block adds eight elements per thread. Reading the input dominates the time, and the read rate rises with the
/// number of loads in flight. (The section "Reducing with Unrolling" also mentions this version.)
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_unrolling4,
    lesson = "eight elements per thread: the rounds in the block hardly affect the time anymore",
    default_block = 512,
    items_per_thread = ITEMS,
    in_place
)]
pub unsafe fn reduce_unrolling8(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_dim, block_idx) = (thread::thread_idx_x(), thread::block_dim_x(), thread::block_idx_x());
    let start = block_idx * block_dim * ITEMS as u32;
    let slice = input.wrapping_add(start as usize);

    // The change: eight elements instead of four.
    let first = start + tid;
    // SAFETY: `input` has n elements. No other thread accesses this thread's elements before the barrier.
    unsafe {
        let sum = sum_items::<ITEMS>(input, first, block_dim, n);
        if first < n {
            *slice.add(tid as usize) = sum;
        }
    }
    thread::sync_threads();

    // The rest is the same as in `reduce_interleaved`, with one sum per thread.
    let len = (n - start).min(block_dim);
    let mut stride = block_dim / 2;
    while stride > 0 {
        if tid < stride && tid + stride < len {
            // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
            unsafe { *slice.add(tid as usize) += *slice.add((tid + stride) as usize) };
        }
        thread::sync_threads();
        stride /= 2;
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block. The slice's first element exists unless the slice is empty.
        unsafe { *output.add(block_idx as usize) = if len > 0 { *slice } else { 0 } };
    }
}
