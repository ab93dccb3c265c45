//! Several data blocks a thread block, before the loop of interleaved pairs.

use cuda_std::{kernel, thread};
use rung::Rung;

use super::interleaved::sum_interleaved;
use super::{GLOBAL, Part, data_blocks, published, sum_into_first};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[REDUCE_UNROLLING2, REDUCE_UNROLLING4, REDUCE_UNROLLING8];

/// A thread first adds its elements of `N` neighbouring data blocks, then the block sums as before.
///
/// The loop with its barriers is paid once for `N` times the data, and the `N` loads of a thread are
/// independent: they are in flight together and hide each other's latency.
#[inline(always)]
unsafe fn unrolling<const N: usize>(input: *mut i32, output: *mut i32, n: u32) {
    let part = Part::of_this_block(N as u32);
    // SAFETY: as the kernel's contract says; a thread writes only its own element before the barrier.
    unsafe {
        let data = input.add(part.start as usize);
        sum_into_first::<N>(input, part.first(), part.block, n);
        thread::sync_threads();
        sum_interleaved(data, part.tid, part.block, part.len(n), 0);
        part.write_sum(output, data, n);
    }
}

rung! { reduce_unrolling2: GLOBAL {
    lesson: "a block takes two data blocks: half the blocks, and two loads in flight for each thread",
    geometry: data_blocks(2),
    published: published(3.3),
} }

/// Two data blocks a block: half as many blocks. The article measures 3.3 times the first rung's speed. ("Reducing
/// with Unrolling", `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unrolling2(input: *mut i32, output: *mut i32, n: u32) {
    // SAFETY: as the kernel's contract says.
    unsafe { unrolling::<2>(input, output, n) }
}

rung! { reduce_unrolling4: GLOBAL {
    lesson: "four data blocks: more independent loads hide more of the memory's latency",
    geometry: data_blocks(4),
} }

/// Four data blocks a block. ("Reducing with Unrolling" names it beside `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unrolling4(input: *mut i32, output: *mut i32, n: u32) {
    // SAFETY: as the kernel's contract says.
    unsafe { unrolling::<4>(input, output, n) }
}

rung! { reduce_unrolling8: GLOBAL {
    lesson: "eight data blocks: the rounds in the block hardly count any more",
    geometry: data_blocks(8),
} }

/// Eight data blocks a block: the reading of the input dominates, at a rate that rises with the number of loads in
/// flight. ("Reducing with Unrolling" names it beside `reduceUnrolling2`.)
///
/// # Safety
/// As [`reduce`](super) says.
#[kernel]
pub unsafe fn reduce_unrolling8(input: *mut i32, output: *mut i32, n: u32) {
    // SAFETY: as the kernel's contract says.
    unsafe { unrolling::<8>(input, output, n) }
}
