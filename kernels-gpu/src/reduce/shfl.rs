//! Warp shuffles: partial sums stay in registers.

use cuda_std::thread;

use super::{Part, sum_of};
use crate::warp::{WARP_SIZE, warp_sum};

entries! {
    /// Each warp sums its 32 elements by shuffles, leaves one word in shared memory, and after the one
    /// barrier the first warp sums those words the same way.
    ///
    /// Against `reduce_smem`: five exchanges between registers in the place of the steps through
    /// shared memory, one barrier, and a word of shared memory a warp. The seed measures 1.4 times its
    /// speed. (Seed: warp shuffles, `reduceShfl`, whose block is 128 threads.)
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_shfl(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared warp_sums: [i32; BLOCK / WARP_SIZE as usize];
    // SAFETY: the body's contract is the kernel's.
    => unsafe { shfl::<BLOCK>(warp_sums, input, output, n) }
}

/// # Safety
/// As [`reduce`](super) says, with blocks of `BLOCK` threads; `warp_sums` is shared memory of a word
/// for each warp.
#[inline(always)]
unsafe fn shfl<const BLOCK: usize>(
    warp_sums: *mut i32,
    input: *const i32,
    output: *mut i32,
    n: u32,
) {
    let warps = BLOCK as u32 / WARP_SIZE;
    let part = Part::of_block_of(BLOCK as u32, 1);
    let (warp, lane) = (part.tid / WARP_SIZE, part.tid % WARP_SIZE);
    // SAFETY: the kernel's contract; all lanes of a warp take the same branches to the sums.
    unsafe {
        let sum = warp_sum(sum_of::<1, true>(input, part.first(), part.block, n));
        if lane == 0 {
            *warp_sums.add(warp as usize) = sum;
        }
        thread::sync_threads();
        if warp == 0 {
            let sum = warp_sum(if lane < warps {
                *warp_sums.add(lane as usize)
            } else {
                0
            });
            if lane == 0 {
                *output.add(part.index as usize) = sum;
            }
        }
    }
}
