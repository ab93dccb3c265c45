//! Hints:
//!
//! 1. After the round with 16, lane 0 has the sum of lanes 0 and 16. Which round brings in two more?
//! 2. `let mut bits = 16; while bits > 0 { …; bits /= 2; }`
//! 3. `let (other, _) = warp::warp_shuffle_xor(u32::MAX, sum, bits, 32); sum += other;`
//!
//! A loop of constant length is written out by the compiler: five shuffles, five additions, no branch.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn butterfly(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let mut sum = *data.add(i);
        let mut bits = 16;
        while bits > 0 {
            let (other, _) = warp::warp_shuffle_xor(u32::MAX, sum, bits, 32);
            sum += other;
            bits /= 2;
        }
        *data.add(i) = sum;
    }
}
