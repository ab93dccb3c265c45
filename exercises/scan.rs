//! A scan: running sums within a warp.
//!
//! An inclusive *scan* replaces each element by the sum of all up to it: 3 1 4 1 becomes 3 4 8 9. It looks as if it could only
//! be done one after the other, and takes five rounds in a warp.
//!
//! In the round of distance `d`, every lane adds the value of the lane `d` below, if there is one. After the round with 1 a
//! lane has the sum of 2 elements, after the round with 2 that of 4, then 8, 16, 32. Write the rounds.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn scan(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let sum = *data.add(i);
        // TODO: five rounds.
        *data.add(i) = sum;
    }
}
