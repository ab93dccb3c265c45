//! The last warp without loop and barriers.

use cuda_std::{kernel, thread, warp};
use rung::Rung;

use super::interleaved::sum_interleaved;
use super::operation::{Element, Operation, Sum};
use super::{GLOBAL, Part, data_blocks, published, sum_into_first};
use crate::warp::{FULL_MASK, WARP_SIZE};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_UNROLL_WARPS8];

rung! { reduce_unroll_warps8: GLOBAL {
    lesson: "the last six rounds are one warp's: written out, without barriers for the whole block",
    geometry: data_blocks(8),
    published: published(5.3),
} }

/// `reduce_unrolling8` whose loop stops at 64 sums: the rest is one warp's work and needs no barrier of
/// the whole block.
///
/// Six barriers fewer for every warp, and no loop control for the steps where 31 warps of 32 would only wait. The
/// article measures 5.3 times the first rung's speed and fewer warps stalled at barriers. ("Reducing with Unrolled
/// Warps", `reduceUnrollWarps8`. That kernel counts on lockstep; `last_warp` does not.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unroll_warps8(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(8);
    let len = part.len(n);
    // SAFETY: as the kernel's contract says; a thread writes only its own element before the barrier.
    unsafe {
        let data = input.add(part.start as usize);
        sum_into_first::<8>(input, part.first(), part.block, n);
        thread::sync_threads();
        sum_interleaved(data, part.tid, part.block, len, 32);
        last_warp::<i32, Sum>(data, part.tid, len);
        part.write_sum(output, data, len);
    }
}

/// Combines 64 elements, or the `len` that there are, into `data[0]` with one warp: six steps without a
/// barrier or a loop.
///
/// # Safety
/// All threads of the block call it, after a barrier; `data` holds `len` elements that only this
/// block uses.
#[inline(always)]
pub(super) unsafe fn last_warp<T: Element, O: Operation<T>>(data: *mut T, tid: u32, len: u32) {
    if tid < WARP_SIZE {
        // SAFETY: as the caller promises; unchecked only where all 64 elements exist.
        unsafe {
            if len >= 2 * WARP_SIZE {
                last_warp_steps::<T, O, false>(data, tid, len);
            } else {
                last_warp_steps::<T, O, true>(data, tid, len);
            }
        }
    }
}

/// The six steps. Volatile, so that each reads from memory what the one before wrote there.
///
/// The article counts on lockstep and writes `vmem[tid] += vmem[tid + 16]`: there lane 16 may write
/// its element before lane 0 has read it. Two `sync_warp`s in each step keep reading and writing apart. As
/// in the article, lanes beyond the stride combine elements that nobody reads, because that is cheaper than a branch.
///
/// # Safety
/// All lanes of one warp call it, `tid` being the lane; `data` holds `len` elements, and 64 unless
/// `CHECKED`.
#[inline(always)]
unsafe fn last_warp_steps<T: Element, O: Operation<T>, const CHECKED: bool>(data: *mut T, tid: u32, len: u32) {
    for stride in [32, 16, 8, 4, 2, 1] {
        let exists = !CHECKED || tid + stride < len;
        // SAFETY: both elements are below `len`; the barriers order the accesses.
        unsafe {
            let own = data.add(tid as usize);
            let mut result = O::IDENTITY;
            if exists {
                result = O::combine(own.read_volatile(), own.add(stride as usize).read_volatile());
            }
            warp::sync_warp(FULL_MASK);
            if exists {
                own.write_volatile(result);
            }
            warp::sync_warp(FULL_MASK);
        }
    }
}
