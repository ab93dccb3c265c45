//! The pairs of `reduce_neighbored`, added by neighboring threads: whole warps work or idle.

use cuda_std::thread;
use rung::rung;

/// Thread `t` adds the `t`-th pair of a round. So the first threads of the block are busy, and all later warps are
/// completely idle.
///
/// Only the last five rounds still diverge, because fewer than 32 threads work in these rounds. The accesses stay
/// strided. The article measures 1.7 times the first rung's speed and less than half of that rung's instructions per
/// warp. On an H100, this rung executes 123 instructions per warp, and the first rung executes 161. ("Improving
/// Divergence in Parallel Reduction", `reduceNeighboredLess`.)
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_neighbored,
    lesson = "the same pairs, added by neighboring threads: whole warps work or idle until the last rounds",
    default_block = 512,
    published = 1.7 over reduce_neighbored,
    in_place
)]
pub unsafe fn reduce_neighbored_less(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_dim, block_idx) = (thread::thread_idx_x(), thread::block_dim_x(), thread::block_idx_x());
    let start = block_idx * block_dim;
    let len = (n - start).min(block_dim);
    let slice = input.wrapping_add(start as usize);

    let mut stride = 1;
    while stride < block_dim {
        // The only change: the thread's index determines the pair. In `reduce_neighbored`, the element's index
        // determines the thread.
        let first = 2 * stride * tid;
        if first + stride < len {
            // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
            unsafe { *slice.add(first as usize) += *slice.add((first + stride) as usize) };
        }
        thread::sync_threads();
        stride *= 2;
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block. The slice's first element exists unless the slice is empty.
        unsafe { *output.add(block_idx as usize) = if len > 0 { *slice } else { 0 } };
    }
}
