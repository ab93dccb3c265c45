//! A shuffle that reads from a lane that does not participate.
//!
//! The mask is correct: it names the 20 lanes that take the branch. But lane 12 reads from lane 20, which the mask does
//! not name, so the value is undefined.
//!
//! In the fixed version, all lanes execute the shuffle, and a lane without an element passes the identity.

use cuda_std::warp::warp_shuffle_down;
use cuda_std::{kernel, thread};

pitfall! { shuffle_from_inactive_lane: Init, 1 x 32 {
    lesson: "the source lane of a shuffle must participate: lanes without an element pass the identity",
    on_gpu: "the contents of the inactive lane's register on current hardware; undefined in general",
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
            let (received, _) = warp_shuffle_down((1 << 20) - 1, value, 8, 32);
            *output.add(lane as usize) = value.wrapping_add(received); // fault
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn shuffle_from_inactive_lane_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: `input` and `output` are accessed only below 20. All 32 lanes that the mask names execute the shuffle.
    unsafe {
        let lane = thread::thread_idx_x();
        let value = if lane < 20 { *input.add(lane as usize) } else { 0 };
        let (received, _) = warp_shuffle_down(u32::MAX, value, 8, 32);
        if lane < 20 {
            *output.add(lane as usize) = value.wrapping_add(received);
        }
    }
}
