//! Hints:
//!
//! 1. The choice depends on whether this lane is the lower lane of the pair, and on whether its run is ascending.
//! 2. The lower lane has 0 in the bit `stride`. A lower lane keeps the smaller key of an ascending run, and the larger
//!    key of a descending run. For an upper lane, both cases are reversed.
//! 3. `let keeps_smaller = (lane & stride == 0) == (lane & size == 0);`
//!
//! The pairs that are compared do not depend on the keys. Such a sort is a *sorting network*: no branch diverges.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn compare_exchange(data: *mut i32) {
    let i = thread::index_1d() as usize;
    let lane = thread::thread_idx_x() % 32;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let mut key = *data.add(i);
        for size in [2, 4, 8, 16, 32] {
            let mut stride = size / 2;
            while stride > 0 {
                let (other, _) = warp::warp_shuffle_xor(u32::MAX, key, stride, 32);
                let keeps_smaller = (lane & stride == 0) == (lane & size == 0);
                key = if keeps_smaller { key.min(other) } else { key.max(other) };
                stride /= 2;
            }
        }
        *data.add(i) = key;
    }
}
