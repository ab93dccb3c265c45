//! A shuffle with the mask of all lanes, in a branch that half of them take.
//!
//! The mask of a shuffle names the lanes that take part, and each of them has to come to this shuffle. Here lanes 16
//! to 31 are named, and skip the branch. What the others read from them is not said; a GPU may also wait for them.
//!
//! The cure has all lanes shuffle, and puts the use of the result into the branch.

use cuda_std::warp::warp_shuffle_down;
use cuda_std::{kernel, thread};

use crate::warp::FULL_MASK;

pitfall! { shuffle_in_a_branch: Sync, 1 x 32 {
    lesson: "a mask names lanes that come to this very instruction: shuffle outside of branches, use the result inside",
    on_gpu: "undefined: values of lanes that are not there, or a warp that waits for ever",
    arguments: [Input(32), Output(32)],
    right: |input, at| input[at].wrapping_add(if at < 16 { input[at + 8] } else { 0 }),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn shuffle_in_a_branch(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x();
        let mut value = *input.add(lane as usize);
        if lane < 16 {
            let (other, _) = warp_shuffle_down(FULL_MASK, value, 8, 32); // fault
            value = value.wrapping_add(other);
        }
        *output.add(lane as usize) = value;
    }
}

/// The cure.
#[kernel]
pub unsafe fn shuffle_in_a_branch_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x();
        let mut value = *input.add(lane as usize);
        let (other, _) = warp_shuffle_down(FULL_MASK, value, 8, 32);
        if lane < 16 {
            value = value.wrapping_add(other);
        }
        *output.add(lane as usize) = value;
    }
}
