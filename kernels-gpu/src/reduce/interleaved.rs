//! Interleaved pairs, in place in global memory.

use cuda_std::{kernel, thread};
use rung::Rung;

use super::{GLOBAL, Part, add_at, published};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_INTERLEAVED];

rung! { reduce_interleaved: GLOBAL {
    lesson: "pairs half a block apart: neighbouring threads read neighbouring words, loads coalesce",
    published: published(1.87),
} }

/// Pairs lie half a block apart, then a quarter: the working threads are as before, and now they read
/// and write neighbouring elements.
///
/// A warp's 32 elements fill four sectors of 32 bytes instead of lying in one each, so fewer sectors are moved for the
/// same additions. The branches are as uniform as in the rung before. The article measures 1.87 times the first rung's
/// speed. ("Reducing with Interleaved Pairs", `reduceInterleaved`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_interleaved(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(1);
    // SAFETY: as the kernel's contract says.
    unsafe {
        let data = input.add(part.start as usize);
        sum_interleaved(data, part.tid, part.block, part.len(n), 0);
        part.write_sum(output, data, n);
    }
}

/// Halves the number of sums until `2 * above` or fewer are left, or one: the loop of every rung from
/// here to where it is unrolled.
///
/// # Safety
/// All threads of the block call it; `data` holds `len` elements that only this block uses, and
/// barriers lie between earlier writes and this call.
#[inline(always)]
pub(super) unsafe fn sum_interleaved(data: *mut i32, tid: u32, block: u32, len: u32, above: u32) {
    let mut stride = block / 2;
    while stride > above {
        if tid < stride && tid + stride < len {
            // SAFETY: both below `len`; the first halves and second halves of a step are disjoint.
            unsafe { add_at(data, tid, stride) };
        }
        thread::sync_threads();
        stride /= 2;
    }
}
