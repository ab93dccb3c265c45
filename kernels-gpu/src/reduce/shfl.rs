//! Warp shuffles: partial results stay in registers.

use cuda_std::{thread, warp};
use rung::{PublishedSpeedup, Rung};

use super::every_operation::every_operation;
use super::operation::{Operation, Sum};
use super::{Element, ON_CHIP, Part, load_and_combine};
use crate::grid::BlockOutput;
use crate::warp::{FULL_MASK, WARP_SIZE};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[Rung { entries: EVERY_OPERATION, ..REDUCE_SHFL }];

entries! {
    /// Each warp sums its 32 elements by shuffles, leaves one word in shared memory, and after the one
    /// barrier the first warp sums those words the same way.
    ///
    /// Against `reduce_smem`: five exchanges between registers in the place of the steps through shared memory, one
    /// barrier, and a word of shared memory a warp. The article *Warp Shuffle Instruction* measures 1.4 times its
    /// speed, with blocks of 128 threads. ("Parallel Reduction Using the Warp Shuffle Instruction", `reduceShfl`.)
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_shfl(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared warp_sums: [i32; BLOCK / WARP_SIZE as usize];
    rung ON_CHIP {
        lesson: "warps sum in registers by shuffles; shared memory carries one word a warp",
        published: Some(PublishedSpeedup { factor: 1.4, over: "reduce_smem" }),
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { shfl::<i32, Sum, BLOCK>(warp_sums, input, output, n) }
}

every_operation! { reduce_shfl; shared [BLOCK / WARP_SIZE as usize]; shfl }

/// # Safety
/// As [`reduce`](super) says, with blocks of `BLOCK` threads; `warp_results` is shared memory of an element
/// for each warp.
#[inline(always)]
unsafe fn shfl<T: Element, O: Operation<T>, const BLOCK: usize>(
    warp_results: *mut T,
    input: *const T,
    output: *mut T,
    n: u32,
) {
    let part = Part::of_block_size(BLOCK as u32, 1);
    // SAFETY: as the kernel's contract says.
    unsafe {
        let own = load_and_combine::<T, O, 1, true>(input, part.first(), part.block, n);
        let result = combine_block::<T, O, BLOCK>(warp_results, own);
        BlockOutput::new(output).write(|| result);
    }
}

/// Combines a value of each thread of the block. Only the first warp gets the result.
///
/// # Safety
/// All threads of a block of `BLOCK` call it; `warp_results` is shared memory of an element for each warp,
/// used by nothing else.
#[inline(always)]
pub(super) unsafe fn combine_block<T: Element, O: Operation<T>, const BLOCK: usize>(
    warp_results: *mut T,
    value: T,
) -> T {
    let warps = BLOCK as u32 / WARP_SIZE;
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / WARP_SIZE, tid % WARP_SIZE);
    // SAFETY: all lanes of a warp take the same branches to where they combine.
    unsafe {
        let result = combine_warp::<T, O>(value);
        if lane == 0 {
            *warp_results.add(warp as usize) = result;
        }
        thread::sync_threads();
        if warp == 0 {
            let value = if lane < warps { *warp_results.add(lane as usize) } else { O::IDENTITY };
            combine_warp::<T, O>(value)
        } else {
            result
        }
    }
}

/// Combines the warp's values by five butterfly exchanges. Every lane gets the result.
///
/// In each step a lane takes in the value of the lane whose number differs in one bit, so the results cover 2, 4, … 32
/// lanes, and no memory is touched. (*Warp Shuffle Instruction*, "Parallel Reduction Using the Warp Shuffle
/// Instruction", `warpReduce`.)
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
unsafe fn combine_warp<T: Element, O: Operation<T>>(value: T) -> T {
    let mut result = value;
    let mut lane_mask = WARP_SIZE / 2;
    while lane_mask > 0 {
        // SAFETY: all lanes are here, so each has a partner.
        let (other, _) = unsafe { warp::warp_shuffle_xor(FULL_MASK, result, lane_mask, WARP_SIZE) };
        result = O::combine(result, other);
        lane_mask /= 2;
    }
    result
}
