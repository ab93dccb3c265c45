//! Several data blocks a thread block, before the loop of interleaved pairs.

use cuda_std::{kernel, thread};

use super::interleaved::sum_interleaved;
use super::{Part, sum_into_first};

/// A thread first adds its elements of `N` neighbouring data blocks, then the block sums as before.
///
/// The loop with its barriers is paid once for `N` times the data, and the `N` loads of a thread are
/// independent: they are in flight together and hide each other's latency.
#[inline(always)]
unsafe fn unrolling<const N: usize>(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(N as u32);
    // SAFETY: the kernel's contract; a thread writes only its own element before the barrier.
    unsafe {
        let data = input.add(part.start as usize);
        sum_into_first::<N>(input, part.first(), part.block, n);
        thread::sync_threads();
        sum_interleaved(data, part.tid, part.block, part.len(n), 0);
        if part.tid == 0 {
            *output.add(part.index as usize) = if n > 0 { *data } else { 0 };
        }
    }
}

/// Two data blocks a block: half as many blocks. The seed measures 3.3 times the first rung's speed.
/// (Seed: `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unrolling2(input: *mut i32, output: *mut i32, n: u32) {
    // SAFETY: the kernel's contract.
    unsafe { unrolling::<2>(input, output, n) }
}

/// Four data blocks a block. (Seed: named beside `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unrolling4(input: *mut i32, output: *mut i32, n: u32) {
    // SAFETY: the kernel's contract.
    unsafe { unrolling::<4>(input, output, n) }
}

/// Eight data blocks a block: the reading of the input dominates, at a rate that rises with the
/// number of loads in flight. (Seed: named beside `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unrolling8(input: *mut i32, output: *mut i32, n: u32) {
    // SAFETY: the kernel's contract.
    unsafe { unrolling::<8>(input, output, n) }
}
