//! Shuffle: read a register of another thread.
//!
//! The 32 threads of a warp are its *lanes*, 0 to 31. A *shuffle* lets each lane read a variable of another lane,
//! without memory and without a barrier. `warp_shuffle_idx(mask, value, lane, 32)` returns the `value` of lane `lane`.
//! The mask has a bit for each participating lane, and all these lanes must execute the same call. The mask `u32::MAX`
//! selects all 32 lanes.
//!
//! Subtract the first element of a warp from each of its elements.
//!
//! The shuffle returns the value, and whether the source lane exists: `let (first, _) = unsafe { … };`.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn broadcast(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a different element, and all lanes shuffle
    // together.
    unsafe {
        let value = *data.add(i);
        // TODO: read the `value` of lane 0.
        let first = value;
        *data.add(i) = value - first;
    }
}
