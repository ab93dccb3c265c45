//! Hints:
//!
//! 1. With width 8, lane 0 of a segment has the first element of a row.
//! 2. `let (first, _) = warp::warp_shuffle_idx(u32::MAX, own, 0, 8);`
//!
//! The mask stays that of all 32 lanes, because all of them come to the shuffle. With width 32, three rows of four would get
//! the first element of a row that is not theirs.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn segments(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let own = *data.add(i);
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, own, 0, 8);
        *data.add(i) = own - first;
    }
}
