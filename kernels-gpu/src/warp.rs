//! What the threads of a warp do together.

use cuda_std::warp;

use crate::reduce::operation::{Element, Operation};

/// Every lane.
pub const FULL_MASK: u32 = u32::MAX;
/// Threads in a warp.
pub const WARP_SIZE: u32 = 32;

/// The mask of the first `count` lanes, 1 to 32.
#[inline(always)]
#[must_use]
pub fn first_lanes(count: u32) -> u32 {
    FULL_MASK >> (WARP_SIZE - count)
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
pub unsafe fn combine_warp<T: Element, O: Operation<T>>(value: T) -> T {
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
