//! Width: shuffles in segments of a warp.
//!
//! The last argument of a shuffle is the *width*. It divides the warp into segments of 1, 2, 4, 8, 16 or 32 lanes. A
//! lane reads only lanes of the same segment, and the index of the source lane counts from the start of the segment.
//! With width 8, a warp handles four small problems at once.
//!
//! Here each row of a matrix has 8 elements, and each thread has one element. Every thread must subtract the first
//! element of its row from its element.

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
        // TODO: read the `value` of the row's first lane.
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, value, 0, 32);
        *data.add(i) = value - first;
    }
}
