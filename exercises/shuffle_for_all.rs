//! Find and cure: a shuffle in a branch.
//!
//! The mask of a shuffle names the lanes that take part, and each of them has to come to it. In this kernel the even lanes
//! add the element of the lane above, and the shuffle went into the branch. The odd lanes are named, and do not come.
//!
//! Let all lanes shuffle, and only the even ones use what they get.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `data` points to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn shuffle_for_all(data: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: each thread has an element of its own; all lanes shuffle together.
    unsafe {
        let own = *data.add(i);
        // TODO: all lanes shuffle.
        let mut sum = own;
        if i % 2 == 0 {
            let (above, _) = warp::warp_shuffle_down(u32::MAX, own, 1, 32);
            sum += above;
        }
        *data.add(i) = sum;
    }
}
