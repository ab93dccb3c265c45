//! Scan: running sums in a warp.
//!
//! An inclusive *scan* replaces each element with the sum of all elements up to it: 3 1 4 1 becomes 3 4 8 9. The sums
//! depend on each other, but a warp needs only five rounds.
//!
//! In the round with distance `d`, every lane adds the value of the lane whose index is `d` lower, if that lane exists.
//! After the round with distance 1, a lane has the sum of up to 2 elements, then 4, 8, 16 and 32. Write the rounds.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn scan(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let sum = *data.add(i);
        // TODO: write the five rounds.
        *data.add(i) = sum;
    }
}
