//! Four elements per thread before the rounds.

use core::array;

use cuda_std::thread;
use rung::rung;

/// Elements that each thread adds up before the rounds begin.
const ITEMS: usize = 4;

/// A block takes four times as many elements as it has threads. ("Reducing with Unrolling" names it next to
/// `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[rung(
    after = reduce_unrolling2,
    lesson = "four elements per thread: more independent loads hide more of the memory's latency",
    default_block = 512,
    items_per_thread = ITEMS,
    in_place
)]
pub unsafe fn reduce_unrolling4(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_dim, block_idx) = (thread::thread_idx_x(), thread::block_dim_x(), thread::block_idx_x());
    let start = block_idx * block_dim * ITEMS as u32;
    let slice = input.wrapping_add(start as usize);

    // Each thread adds up its elements, which lie a block apart. All loads come before the first addition, so they are
    // in flight together.
    let item = |k: usize| tid + k as u32 * block_dim;
    if start + item(ITEMS - 1) < n {
        // SAFETY: the last item is below n, and so are the others. No other thread accesses this thread's items.
        unsafe {
            let items: [i32; ITEMS] = array::from_fn(|k| *slice.add(item(k) as usize));
            *slice.add(tid as usize) = items.into_iter().sum();
        }
    } else if start + tid < n {
        let exists = |k: &usize| start + item(*k) < n;
        // SAFETY: only items below n are read. No other thread accesses this thread's items.
        unsafe { *slice.add(tid as usize) = (0..ITEMS).filter(exists).map(|k| *slice.add(item(k) as usize)).sum() };
    }
    thread::sync_threads();

    // From here on as in `reduce_interleaved`: one sum per thread is left.
    let len = (n - start).min(block_dim);
    let mut stride = block_dim / 2;
    while stride > 0 {
        if tid < stride && tid + stride < len {
            // SAFETY: both elements are in the slice. In this round no other thread touches either.
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
