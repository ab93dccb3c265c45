//! Hints:
//!
//! 1. After the round with 16, lane 0 has the sum of lanes 0 and 16. Which lanes are in its sum after the round with 8?
//! 2. The rounds are a loop in which `bits` is halved. The value to exchange is the sum so far.
//! 3. `let (other, _) = warp::warp_shuffle_xor(u32::MAX, sum, bits, 32); sum += other;`
//!
//! The compiler unrolls a loop with a constant number of rounds: five shuffles, five additions, and no branch.

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
