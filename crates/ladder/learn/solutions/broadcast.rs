//! Hints:
//!
//! 1. The first element of the warp is the `own` of lane 0.
//! 2. `let (first, _) = warp::warp_shuffle_idx(u32::MAX, own, 0, 32);`
//!
//! Reading the same lane everywhere is a *broadcast*. All four shuffles take one instruction; they differ in how a lane finds
//! the one it reads.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn broadcast(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let own = *data.add(i);
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, own, 0, 32);
        *data.add(i) = own - first;
    }
}
