//! Hints:
//!
//! 1. A variable outside the loop keeps the sum of the previous rows. It is 0 for the first row.
//! 2. After the addition, the last lane has the sum of all rows so far. All lanes need this sum, and a shuffle can
//!    broadcast the value of one lane.
//! 3. `carry = warp::warp_shuffle_idx(u32::MAX, sum, 31, 32).0;`
//!
//! Only the carry depends on the previous rows. The loads of a row, and the shuffles that scan it, do not wait for the
//! carry.

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
    let mut carry = 0;
    for row in 0..4 {
        // SAFETY: the warp has 128 elements, each lane accesses different elements, and all lanes shuffle together.
        unsafe {
            let element = data.add((first + row * 32) as usize);
            let sum = scan_warp(*element) + carry;
            carry = warp::warp_shuffle_idx(u32::MAX, sum, 31, 32).0;
            *element = sum;
        }
    }
}
