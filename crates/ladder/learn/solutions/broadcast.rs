//! Hints:
//!
//! 1. Which lane has the first element of the warp, and in which variable?
//! 2. All lanes read the variable `value` of lane 0.
//! 3. `let (first, _) = warp::warp_shuffle_idx(u32::MAX, value, 0, 32);`
//!
//! If all lanes read the same lane, the shuffle is a *broadcast*. Each of the four shuffles is one instruction. The
//! shuffles differ in how a lane computes its source lane.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn broadcast(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let value = *data.add(i);
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, value, 0, 32);
        *data.add(i) = value - first;
    }
}
