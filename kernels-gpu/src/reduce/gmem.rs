//! One element per thread in global memory: the baseline for shared memory.

use cuda_std::thread;
use rung::rung;

use super::unroll_warps8::sum_last_warp;

/// `reduce_complete_unroll` with one element per thread: every partial sum is written to global memory and read back.
///
/// # Safety
/// See [`reduce`](super).
#[rung(
    after = reduce_complete_unroll,
    lesson = "all rounds in global memory: the baseline for the shared-memory rungs",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 512,
    in_place
)]
pub unsafe fn reduce_gmem<const BLOCK: u32>(input: *mut i32, output: *mut i32, n: u32) {
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());
    let start = block_idx * BLOCK;
    let len = (n - start).min(BLOCK);
    let slice = input.wrapping_add(start as usize);

    for stride in [512, 256, 128, 64] {
        if BLOCK >= 2 * stride {
            if tid < stride && tid + stride < len {
                // SAFETY: both elements are in the slice. In this round, no other thread accesses either element.
                unsafe { *slice.add(tid as usize) += *slice.add((tid + stride) as usize) };
            }
            thread::sync_threads();
        }
    }

    // The same as in `reduce_unroll_warps8`. A full slice needs no checks, which would take 2 % of this rung's time on
    // an H100.
    if tid < 32 {
        // SAFETY: all lanes of the first warp call `sum_last_warp`, and no other warp accesses these 64 elements
        // anymore. In a full slice, all 64 elements exist.
        unsafe {
            if len >= 64 {
                sum_last_warp(slice, tid, |_| true);
            } else {
                sum_last_warp(slice, tid, |stride| tid + stride < len);
            }
        }
    }
    if tid == 0 {
        // SAFETY: `output` has an element for each block. The slice's first element exists unless the slice is empty.
        unsafe { *output.add(block_idx as usize) = if len > 0 { *slice } else { 0 } };
    }
}
