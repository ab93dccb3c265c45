//! What the threads of a warp do together.

use cuda_std::warp;

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

/// The wrapping sum of `value` over the warp, in every lane: five butterfly exchanges.
///
/// In each step a lane adds the value of the lane whose number differs in one bit, so the sums cover
/// 2, 4, … 32 lanes, and no memory is touched. (Seed: warp shuffles, `warpReduce`.)
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
pub unsafe fn warp_sum(value: i32) -> i32 {
    let mut sum = value;
    let mut lane_mask = WARP_SIZE / 2;
    while lane_mask > 0 {
        // SAFETY: all lanes are here, so each has a partner.
        let (other, _) = unsafe { warp::warp_shuffle_xor(FULL_MASK, sum, lane_mask, WARP_SIZE) };
        sum = sum.wrapping_add(other);
        lane_mask /= 2;
    }
    sum
}
