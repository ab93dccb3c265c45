//! Width: shuffles in parts of a warp.
//!
//! The last argument of a shuffle, the *width*, cuts the warp into segments of 1, 2, 4, 8, 16 or 32 lanes. No lane reads
//! outside of its own segment, and lanes are counted from its beginning. That suits small problems: with width 8, a warp
//! works on four of them at a time.
//!
//! Here each row of a matrix has 8 elements, and a thread has one of them. Let every thread subtract the first element of its
//! row from its own.

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
        // TODO: the `own` of the row's first lane.
        let (first, _) = warp::warp_shuffle_idx(u32::MAX, own, 0, 32);
        *data.add(i) = own - first;
    }
}
