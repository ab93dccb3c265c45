//! Butterfly: the sum of a warp in every lane, with five shuffles.
//!
//! `warp_shuffle_xor(mask, value, bits, 32)` exchanges values between lanes whose indices differ in the bits that are
//! set in `bits`. With 1, lanes 0 and 1 exchange their values, lanes 2 and 3 do, and so on. With 16, lanes 0 and 16
//! exchange their values, lanes 1 and 17 do, and so on.
//!
//! Every lane adds the value that it receives to its sum. After rounds with 16, 8, 4, 2 and 1, all lanes have the sum
//! of all 32 values. Write the five rounds.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn butterfly(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let sum = *data.add(i);
        // TODO: write the five rounds.
        *data.add(i) = sum;
    }
}
