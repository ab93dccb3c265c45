//! The completely unrolled sum in global memory: what shared memory is measured against.

use rung::Rung;

use super::complete_unroll::in_place;
use super::{GLOBAL, data_blocks};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_GMEM, REDUCE_GMEM_UNROLL4];

entries! {
    /// One data block a block, everything unrolled, every partial sum written to global memory and read
    /// back.
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_gmem(input: *mut i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    rung GLOBAL {
        lesson: "all rounds in global memory: what the shared-memory rungs are measured against",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { in_place::<BLOCK, 1>(input, output, n) }
}

entries! {
    /// Four data blocks a block, in global memory.
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_gmem_unroll4(input: *mut i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    rung GLOBAL {
        lesson: "the same with four data blocks to a block",
        geometry: data_blocks(4),
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { in_place::<BLOCK, 4>(input, output, n) }
}
