//! Bitonic sort: a warp sorts 32 keys.
//!
//! A *compare-exchange* puts two keys in order: one lane keeps the smaller key, and the other lane keeps the larger
//! key. Bitonic sort makes sorted runs of 2, 4, 8, 16 and 32 keys. To merge two runs of `size / 2` keys, the first run
//! must be ascending and the second run descending. So the direction of the runs of `size` keys alternates: ascending
//! in the lanes with `lane & size == 0`, and descending in the other lanes.
//!
//! In a step, a lane compares its key with the key of the lane whose index differs in the bit `stride`. In an ascending
//! run, the lower of the two lanes keeps the smaller key. Which lanes keep the smaller key if ascending and descending
//! runs alternate?

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
                // TODO: the direction of the runs alternates.
                let keeps_smaller = lane & stride == 0;
                key = if keeps_smaller { key.min(other) } else { key.max(other) };
                stride /= 2;
            }
        }
        *data.add(i) = key;
    }
}
