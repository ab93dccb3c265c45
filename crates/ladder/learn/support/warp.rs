//! Constants and functions for a whole warp.

/// The mask of all lanes.
pub const FULL_MASK: u32 = u32::MAX;
/// The number of threads in a warp.
pub const WARP_SIZE: u32 = 32;

/// Returns the mask of the first `count` lanes, where `count` is 1 to 32.
#[inline(always)]
#[must_use]
pub fn first_lanes(count: u32) -> u32 {
    FULL_MASK >> (WARP_SIZE - count)
}
