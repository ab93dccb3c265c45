//! Hints:
//!
//! 1. The mask of the first `lanes` lanes is `u32::MAX >> (32 - lanes)`.
//! 2. In a round, the other lane is `lane + distance`. Add only if it is below `lanes`.
//!
//! The sizes of blocks are multiples of 32 in nearly all kernels, and this is why. On a GPU, a shuffle whose mask names a lane
//! that does not come is undefined: it may give anything, or never end.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `input` points to an element for each thread of the one block, `output` to one for each warp.
#[kernel]
pub unsafe fn partial_warp(input: *const i32, output: *mut i32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let lanes = (thread::block_dim_x() - (t - lane)).min(32);
    // SAFETY: in bounds; the mask has the lanes that exist.
    unsafe {
        let mut sum = *input.add(t as usize);
        let mask = u32::MAX >> (32 - lanes);
        let mut distance = 16;
        while distance > 0 {
            let (other, _) = warp::warp_shuffle_down(mask, sum, distance, 32);
            if lane + distance < lanes {
                sum += other;
            }
            distance /= 2;
        }
        if lane == 0 {
            *output.add(t as usize / 32) = sum;
        }
    }
}
