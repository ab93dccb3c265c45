//! Hints:
//!
//! 1. `warp_shuffle_up` with distances 1, 2, 4, 8 and 16.
//! 2. Its second result says whether there is a lane so far below: only then add.
//! 3. All lanes shuffle; the `if` stands behind it, around the addition.
//!
//! A lane without a lower neighbour gets its own value from the shuffle. Adding that would double it.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn scan(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
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
