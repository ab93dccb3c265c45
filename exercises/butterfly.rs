//! Butterfly: the sum of a warp, in every lane, after five shuffles.
//!
//! `warp_shuffle_xor(mask, value, bits, 32)` exchanges values between lanes whose numbers differ in these bits: with 1, lanes
//! 0 and 1 change places, 2 and 3, and so on; with 16, lanes 0 and 16, 1 and 17.
//!
//! If every lane adds what it gets to what it has, and does so for 16, 8, 4, 2 and 1, all lanes have the sum of all 32. Write
//! the five rounds.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn butterfly(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let sum = *data.add(i);
        // TODO: five rounds.
        *data.add(i) = sum;
    }
}
