//! A shuffle that reads from a lane that does not take part.
//!
//! The mask is right: it names the twenty lanes that are in the branch. But lane 12 reads from lane 20, which is not
//! one of them, and the value of such a shuffle is unspecified.
//!
//! The cure has all lanes take part, those without a value with the neutral element.

use cuda_std::warp::warp_shuffle_down;
use cuda_std::{kernel, thread};

use crate::warp::{FULL_MASK, first_lanes};

pitfall! { shuffle_from_inactive_lane: Init, 1 x 32 {
    lesson: "a lane that is read from takes part in the shuffle: give lanes without a value the neutral element",
    on_gpu: "the register of the lane that is not there, whatever it holds; other hardware may give something else",
    arguments: [Input(20), Output(20)],
    right: |input, at| input[at].wrapping_add(if at < 12 { input[at + 8] } else { 0 }),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn shuffle_from_inactive_lane(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x();
        if lane < 20 {
            let value = *input.add(lane as usize);
            let (other, _) = warp_shuffle_down(first_lanes(20), value, 8, 32);
            *output.add(lane as usize) = value.wrapping_add(other); // fault
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn shuffle_from_inactive_lane_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x();
        let value = if lane < 20 { *input.add(lane as usize) } else { 0 };
        let (other, _) = warp_shuffle_down(FULL_MASK, value, 8, 32);
        if lane < 20 {
            *output.add(lane as usize) = value.wrapping_add(other);
        }
    }
}
