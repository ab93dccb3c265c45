//! Exclusive scan: the maximum before each element.
//!
//! An *inclusive* scan includes the element itself. An *exclusive* scan ends before the element. An exclusive sum is
//! the inclusive sum minus the element. A maximum has no such inverse: the 7 cannot be removed from the maximum of 3
//! and 7.
//!
//! This kernel computes the inclusive maximum in each warp. Turn it into the exclusive maximum: a lane needs the
//! inclusive result of the previous lane. Lane 0 has no previous element. Its result is the identity of the maximum,
//! `i32::MIN`.

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
        // TODO: write the exclusive maximum.
        *data.add(i) = largest;
    }
}
