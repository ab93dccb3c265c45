//! Hints:
//!
//! 1. Which argument determines how many lanes share the source lane?
//! 2. A row has 8 lanes. Its first element is in lane 0 of the segment.
//! 3. `let (first, _) = warp::warp_shuffle_idx(u32::MAX, value, 0, 8);`
//!
//! The mask still contains all 32 lanes, because all lanes execute the shuffle. With width 32, three out of four rows
//! would subtract the first element of another row.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn segments(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let value = *data.add(i);
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, value, 0, 8);
        *data.add(i) = value - first;
    }
}
