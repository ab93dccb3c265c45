//! Shuffles: read a register of another thread.
//!
//! The 32 threads of a warp are called *lanes*, 0 to 31. A *shuffle* lets each lane read a variable of another lane: no
//! memory, no barrier. `warp_shuffle_idx(mask, value, lane, 32)` gives the `value` of lane `lane`. The mask has a bit for
//! each lane that takes part, and all of them have to come to this very line; `u32::MAX` is all 32.
//!
//! Let every thread subtract the first element of its warp from its own.
//!
//! It returns two things: the value, and whether there was such a lane. `let (first, _) = unsafe { … };`

use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn broadcast(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let own = *data.add(i);
        // TODO: the `own` of lane 0.
        let first = own;
        *data.add(i) = own - first;
    }
}
