//! Neighboring pairs, in place in global memory.

use cuda_std::thread;
use rung::rung;

/// The naive start: in each round, half of the remaining threads each add their right neighbor's sum to their sum.
///
/// After the first round, the even elements hold sums of two elements; after the second, every fourth element holds a
/// sum of four. Half of each warp's threads idle in the first round and three quarters in the second. The warps
/// diverge, and nearly every warp stays busy until the last rounds. ("Divergence in Parallel Reduction",
/// `reduceNeighbored`.)
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    lesson = "the baseline: every other thread adds its neighbor, so each warp diverges in every round",
    default_block = 512,
    in_place
)]
pub unsafe fn reduce_neighbored(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_dim, block_idx) = (thread::thread_idx_x(), thread::block_dim_x(), thread::block_idx_x());
    // The block's slice of the input, which is shorter at the end of the input.
    let start = block_idx * block_dim;
    let len = (n - start).min(block_dim);
    let slice = input.wrapping_add(start as usize);

    let mut stride = 1;
    while stride < block_dim {
        if tid % (2 * stride) == 0 && tid + stride < len {
            // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
            unsafe { *slice.add(tid as usize) += *slice.add((tid + stride) as usize) };
        }
        thread::sync_threads();
        stride *= 2;
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block. The slice's first element exists unless the slice is empty.
        unsafe { *output.add(block_idx as usize) = if len > 0 { *slice } else { 0 } };
    }
}
