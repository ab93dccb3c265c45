//! What the threads of a warp do together.

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
