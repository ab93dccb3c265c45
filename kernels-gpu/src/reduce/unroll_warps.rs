//! The last warp without loop and barriers.

use cuda_std::{kernel, thread};
use rung::Rung;

use super::interleaved::sum_interleaved;
use super::operation::Sum;
use super::{GLOBAL, Part, data_blocks, last_warp, published, sum_into_first};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_UNROLL_WARPS8];

/// The rung `reduce_unroll_warps8`.
pub const REDUCE_UNROLL_WARPS8: Rung = Rung {
    name: "reduce_unroll_warps8",
    source: file!(),
    lesson: "the last six rounds are one warp's: written out, without barriers for the whole block",
    geometry: data_blocks(8),
    published: published(5.3),
    ..GLOBAL
};

/// `reduce_unrolling8` whose loop stops at 64 sums: the rest is one warp's work and needs no barrier of
/// the whole block.
///
/// Six barriers fewer for every warp, and no loop control for the steps where 31 warps of 32 would only
/// wait. The seed measures 5.3 times the first rung's speed and fewer warps stalled at barriers.
/// (Seed: `reduceUnrollWarps8`; what lockstep did there, `last_warp` does.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unroll_warps8(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(8);
    let len = part.len(n);
    // SAFETY: the kernel's contract; a thread writes only its own element before the barrier.
    unsafe {
        let data = input.add(part.start as usize);
        sum_into_first::<8>(input, part.first(), part.block, n);
        thread::sync_threads();
        sum_interleaved(data, part.tid, part.block, len, 32);
        last_warp::<i32, Sum>(data, part.tid, len);
        part.write_sum(output, data, len);
    }
}
