//! Carry: a warp scans the rows in order.
//!
//! A warp scans 128 elements. If each lane held four neighboring elements, each load would touch 16 sectors. Here the
//! warp loads rows of 32 neighboring elements instead, and scans each row with shuffles.
//!
//! The running sums of a row do not include the previous rows. Carry the sum from row to row: add the sum of all
//! previous rows to each element of a row.

use cuda_std::prelude::*;
use cuda_std::warp;

/// Returns the sum of the values of this lane and all lower lanes. All lanes of the warp must call this function
/// together.
fn scan_warp(value: i32) -> i32 {
    let mut sum = value;
    for distance in [1, 2, 4, 8, 16] {
        // SAFETY: all lanes of the warp shuffle together.
        let (before, exists) = unsafe { warp::warp_shuffle_up(u32::MAX, sum, distance, 32) };
        if exists {
            sum += before;
        }
    }
    sum
}

/// # Safety
/// `data` points to 128 elements for each block of one warp.
#[kernel]
pub unsafe fn scan_rows(data: *mut i32) {
    let first = thread::block_idx_x() * 128 + thread::thread_idx_x();
    for row in 0..4 {
        // SAFETY: the warp has 128 elements, and each lane accesses different elements.
        unsafe {
            let element = data.add((first + row * 32) as usize);
            // TODO: add the sum of the previous rows.
            *element = scan_warp(*element);
        }
    }
}
