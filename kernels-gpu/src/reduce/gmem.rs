//! The completely unrolled sum in global memory: what shared memory is measured against.

use super::complete_unroll::in_place;

entries! {
    /// One data block a block, everything unrolled, every partial sum written to global memory and read
    /// back.
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_gmem(input: *mut i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    // SAFETY: the body's contract is the kernel's.
    => unsafe { in_place::<BLOCK, 1>(input, output, n) }
}

entries! {
    /// Four data blocks a block, in global memory.
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_gmem_unroll4(input: *mut i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    // SAFETY: the body's contract is the kernel's.
    => unsafe { in_place::<BLOCK, 4>(input, output, n) }
}
