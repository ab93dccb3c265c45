//! Hints:
//!
//! 1. The lanes have finished their rounds. One more exchange between neighboring lanes is enough.
//! 2. `warp_shuffle_up` with a distance of 1 returns the value of the previous lane, and whether that lane exists.
//! 3. `let (before, exists) = warp::warp_shuffle_up(u32::MAX, largest, 1, 32);`
//!
//! The shift costs one shuffle. This method works for any operation with an identity.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn exclusive_maximum(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let mut largest = *data.add(i);
        for distance in [1, 2, 4, 8, 16] {
            let (before, exists) = warp::warp_shuffle_up(u32::MAX, largest, distance, 32);
            if exists {
                largest = largest.max(before);
            }
        }
        let (before, exists) = warp::warp_shuffle_up(u32::MAX, largest, 1, 32);
        *data.add(i) = if exists { before } else { i32::MIN };
    }
}
