//! No loop at all: with at most 1024 threads a block there are at most ten steps.

use cuda_std::{kernel, thread};
use rung::Rung;

use super::operation::{Operation, Sum};
use super::unroll_warps::last_warp;
use super::{Element, GLOBAL, Part, add_at, combine_at, data_blocks, sum_into_first};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_COMPLETE_UNROLL_WARPS8, REDUCE_COMPLETE_UNROLL];

rung! { reduce_complete_unroll_warps8: GLOBAL {
    lesson: "no loop at all: every round written out, with the block's size tested as it runs",
    geometry: data_blocks(8),
} }

/// `reduce_unroll_warps8` with the steps of 512, 256, 128 and 64 written out, each asking at run time
/// whether the block is that large.
///
/// Saves the loop's counter and branch; a block of 512 threads still meets the barrier of the step that it skips.
/// ("Reducing with Complete Unrolling", `reduceCompleteUnrollWarps8`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_complete_unroll_warps8(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(8);
    let (tid, len) = (part.tid, part.len(n));
    // SAFETY: as the kernel's contract says; a thread writes only its own element before the barrier, and
    // the halves of a step are disjoint.
    unsafe {
        let data = input.add(part.start as usize);
        sum_into_first::<8>(input, part.first(), part.block, n);
        thread::sync_threads();
        for stride in [512, 256, 128, 64] {
            if part.block >= 2 * stride && tid < stride && tid + stride < len {
                add_at(data, tid, stride);
            }
            thread::sync_threads();
        }
        last_warp::<i32, Sum>(data, tid, len);
        part.write_sum(output, data, len);
    }
}

entries! {
    /// The block size is a constant of the type system: a step that the block is too small for is gone
    /// from the machine code, its question and its barrier with it.
    ///
    /// What `template <unsigned int iBlockSize>` does in CUDA C++, whose version keeps the barriers. ("Reducing with
    /// Template Functions", `reduceCompleteUnroll`.)
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_complete_unroll(input: *mut i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    rung GLOBAL {
        lesson: "the block's size is a const generic: the tests for it are gone before the kernel runs",
        geometry: data_blocks(8),
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { in_place::<BLOCK, 8>(input, output, n) }
}

/// Sums a part of `N` data blocks in place in global memory, everything unrolled.
///
/// # Safety
/// As [`reduce`](super) says, with blocks of `BLOCK` threads.
#[inline(always)]
pub(super) unsafe fn in_place<const BLOCK: usize, const N: usize>(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_block_size(BLOCK as u32, N as u32);
    let len = part.len(n);
    // SAFETY: as the kernel's contract says; a thread writes only its own element before the barrier.
    unsafe {
        let data = input.add(part.start as usize);
        if N > 1 {
            sum_into_first::<N>(input, part.first(), part.block, n);
            thread::sync_threads();
        }
        combine_unrolled::<i32, Sum, BLOCK>(data, part.tid, len);
        part.write_sum(output, data, len);
    }
}

/// Combines `len` elements, at most `BLOCK`, into `data[0]`: a step for each halving down to 64, then
/// `last_warp`. `data` is in global or in shared memory.
///
/// # Safety
/// All `BLOCK` threads call it; `data` holds `len` elements that only this block uses, and barriers
/// lie between earlier writes and this call.
#[inline(always)]
pub(super) unsafe fn combine_unrolled<T: Element, O: Operation<T>, const BLOCK: usize>(
    data: *mut T,
    tid: u32,
    len: u32,
) {
    for stride in [512, 256, 128, 64] {
        if BLOCK as u32 >= 2 * stride {
            if tid < stride && tid + stride < len {
                // SAFETY: both below `len`; the halves of a step are disjoint.
                unsafe { combine_at::<T, O>(data, tid, stride) };
            }
            thread::sync_threads();
        }
    }
    // SAFETY: as the caller promises.
    unsafe { last_warp::<T, O>(data, tid, len) };
}
