//! Neighbouring pairs, in place in global memory.

use cuda_std::{kernel, thread};
use rung::Rung;

use super::{GLOBAL, Part, add_at, published};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_NEIGHBORED, REDUCE_NEIGHBORED_LESS];

rung! { reduce_neighbored: GLOBAL {
    lesson: "the baseline: every other thread adds its neighbour, so each warp diverges in every round",
} }

/// The naive start: in each step, every second thread of those left adds its right neighbour's sum.
///
/// After the first step the even elements hold sums of two, then every fourth a sum of four. Half of each warp's
/// threads idle in the first step, three quarters in the second: warps diverge, and every warp stays busy to the end.
/// ("Divergence in Parallel Reduction", `reduceNeighbored`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_neighbored(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(1);
    let (tid, len) = (part.tid, part.len(n));
    // SAFETY: as the kernel's contract says; a thread adds only elements below `len`, disjoint in each step.
    unsafe {
        let data = input.add(part.start as usize);
        let mut stride = 1;
        while stride < part.block {
            if tid % (2 * stride) == 0 && tid + stride < len {
                add_at(data, tid, stride);
            }
            thread::sync_threads();
            stride *= 2;
        }
        part.write_sum(output, data, len);
    }
}

rung! { reduce_neighbored_less: GLOBAL {
    lesson: "the same pairs by threads in a row: whole warps work or rest, until the last rounds",
    published: published(1.7),
} }

/// The same pairs, other threads: thread `t` takes the `t`-th pair, so that the busy threads are the
/// block's first and whole warps drop out.
///
/// Divergence is left only in the last five steps, where fewer than 32 threads work. The memory accesses are those of
/// the rung before: strided, further apart in each step. The article measures 1.7 times its speed and less than half
/// the instructions a warp. ("Improving Divergence in Parallel Reduction", `reduceNeighboredLess`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_neighbored_less(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(1);
    let (tid, len) = (part.tid, part.len(n));
    // SAFETY: as the kernel's contract says; a thread adds only elements below `len`, disjoint in each step.
    unsafe {
        let data = input.add(part.start as usize);
        let mut stride = 1;
        while stride < part.block {
            let first = 2 * stride * tid;
            if first + stride < len {
                add_at(data, first, stride);
            }
            thread::sync_threads();
            stride *= 2;
        }
        part.write_sum(output, data, len);
    }
}
