//! Two elements per thread before the rounds.

use core::array;

use cuda_std::thread;
use rung::rung;

/// The number of elements that each thread adds before the rounds.
const ITEMS: usize = 2;

/// A block adds two elements per thread, so the same input needs half the blocks.
///
/// The rounds and their barriers run once for twice the data. A thread's two loads are independent, so their latencies
/// overlap. The article measures 3.3 times the first rung's speed. ("Reducing with Unrolling", `reduceUnrolling2`.)
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_interleaved,
    lesson = "each thread first adds two elements: half the blocks, and two loads in flight per thread",
    default_block = 512,
    items_per_thread = ITEMS,
    published = 3.3 over reduce_neighbored,
    in_place
)]
pub unsafe fn reduce_unrolling2(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_dim, block_idx) = (thread::thread_idx_x(), thread::block_dim_x(), thread::block_idx_x());
    let start = block_idx * block_dim * ITEMS as u32;
    let slice = input.wrapping_add(start as usize);

    // The change: each thread first adds up its elements.
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

/// Returns the sum of the `ITEMS` elements `first`, `first + stride` and so on. Elements from `n` on are ignored.
///
/// All loads come before the first addition, so they are in flight at the same time.
///
/// # Safety
/// `input` points to `n` elements, and no other thread writes the elements that are read.
#[inline(always)]
pub(super) unsafe fn sum_items<const ITEMS: usize>(input: *const i32, first: u32, stride: u32, n: u32) -> i32 {
    // The address is a base plus a distance, so a stride known at compile time becomes the immediate offset of the
    // load.
    let item = |k: usize| input.wrapping_add(first as usize).wrapping_add(k * stride as usize);
    let exists = |k: usize| first + k as u32 * stride < n;
    if exists(ITEMS - 1) {
        // SAFETY: the last item is below n, so all items are below n.
        let items: [i32; ITEMS] = array::from_fn(|k| unsafe { *item(k) });
        return items.into_iter().sum();
    }
    // SAFETY: only items below n are read.
    (0..ITEMS).filter(|&k| exists(k)).map(|k| unsafe { *item(k) }).sum()
}
