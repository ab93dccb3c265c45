//! Find and cure: the last warp of a block may have fewer lanes.
//!
//! A block of 40 threads has two warps: one of 32 lanes, and one of 8. A mask that names all 32 lanes names 24 in the second
//! warp that do not exist.
//!
//! Lane 0 of each warp writes the sum of its warp to `output[warp]`, and the mask is that of a full warp. Make a mask of the
//! lanes that exist, and add only what comes from one of them. `lanes` is how many lanes this warp has.

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
        // TODO: the lanes that exist.
        let mask = u32::MAX;
        let mut distance = 16;
        while distance > 0 {
            let (other, _) = warp::warp_shuffle_down(mask, sum, distance, 32);
            // TODO: only what comes from a lane that exists.
            sum += other;
            distance /= 2;
        }
        if lane == 0 {
            *output.add(t as usize / 32) = sum;
        }
    }
}
