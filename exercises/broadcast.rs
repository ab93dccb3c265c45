//! Shuffle: read a register of another thread.
//!
//! The 32 threads of a warp are its *lanes*, 0 to 31. A *shuffle* lets each lane read a variable of another lane,
//! without memory and without a barrier. `warp_shuffle_idx(mask, value, lane, 32)` returns the `value` of lane `lane`.
//! The mask has a bit for each lane that takes part, and all these lanes must execute the same call; `u32::MAX` is all
//! 32 lanes.
//!
//! Let every thread subtract the first element of its warp from its element.
//!
//! The shuffle returns two values: the value, and whether the source lane exists: `let (first, _) = unsafe { … };`.

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn broadcast(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `data` has an element for each thread, each thread accesses a separate one, and all lanes shuffle
    // together.
    unsafe {
        let own = *data.add(i);
        // TODO: the `own` of lane 0.
        let first = own;
        *data.add(i) = own - first;
    }
}
