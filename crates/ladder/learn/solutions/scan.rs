//! Hints:
//!
//! 1. Which shuffle gives a lane the value of a lower lane? The distances are 1, 2, 4, 8 and 16.
//! 2. The second result of the shuffle indicates whether the lower lane exists. All lanes shuffle, but not all lanes
//!    add.
//! 3. `let (below, exists) = warp::warp_shuffle_up(u32::MAX, sum, distance, 32); if exists { sum += below; }`
//!
//! In a lane without a source lane, the shuffle returns the lane's unchanged value. Adding that value would double it.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn scan(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let mut sum = *data.add(i);
        let mut distance = 1;
        while distance < 32 {
            let (below, exists) = warp::warp_shuffle_up(u32::MAX, sum, distance, 32);
            if exists {
                sum += below;
            }
            distance *= 2;
        }
        *data.add(i) = sum;
    }
}
