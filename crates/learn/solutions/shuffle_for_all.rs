//! Hints:
//!
//! 1. Move the shuffle in front of the `if`.
//! 2. The `if` then only chooses: `if i % 2 == 0 { own + above } else { own }`
//!
//! A smaller mask, of the even lanes, would not do: the lane that is read has to take part, too.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn shuffle_for_all(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let own = *data.add(i);
        let (above, _) = warp::warp_shuffle_down(u32::MAX, own, 1, 32);
        let sum = if i % 2 == 0 { own + above } else { own };
        *data.add(i) = sum;
    }
}
