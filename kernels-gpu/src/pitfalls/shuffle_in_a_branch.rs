//! A shuffle with a full mask inside a branch that half of the lanes take.
//!
//! The mask of a shuffle names the participating lanes, and each of them must execute this shuffle. Here the mask also
//! names lanes 16 to 31, which skip the branch. Values read from these lanes are undefined, and a GPU may also wait for
//! these lanes.
//!
//! In the fixed version, all lanes execute the shuffle, and only the use of the result is in the branch.

use cuda_std::warp::warp_shuffle_down;
use cuda_std::{kernel, thread};

pitfall! { shuffle_in_a_branch: Sync, 1 x 32 {
    lesson: "every lane in the mask must execute the shuffle: shuffle outside branches, use the result inside",
    on_gpu: "undefined: values of lanes that did not participate, or a warp that hangs",
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
            let (received, _) = warp_shuffle_down(u32::MAX, value, 8, 32); // fault
            value = value.wrapping_add(received);
        }
        *output.add(lane as usize) = value;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn shuffle_in_a_branch_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: lane < 32, because the block has 32 threads. All 32 lanes that the mask names execute the shuffle.
    unsafe {
        let lane = thread::thread_idx_x();
        let mut value = *input.add(lane as usize);
        let (received, _) = warp_shuffle_down(u32::MAX, value, 8, 32);
        if lane < 16 {
            value = value.wrapping_add(received);
        }
        *output.add(lane as usize) = value;
    }
}
