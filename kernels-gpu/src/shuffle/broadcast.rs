//! Broadcast: one lane's value for all lanes.

use cuda_std::{thread, warp};
use rung::rung;

/// Every lane reads lane `source` of its segment: one value for all. ("Broadcast of a Value across a Warp",
/// `test_shfl_broadcast`.)
///
/// # Safety
/// See [`shuffle`](super).
#[rung(
    lesson = "every lane reads the same lane: one value for all, without memory or a barrier",
    T = { i32: i32, f32: f32 },
    default_block = 16,
    block_for = |shape| [shape[0] as u32, 1, 1],
    fixed_block,
    grid = |_| [1, 1, 1]
)]
pub unsafe fn shuffle_broadcast<T: warp::WarpShuffleValue>(input: *const T, output: *mut T, source: u32, width: u32) {
    let lane = thread::thread_idx_x();
    // The mask names all lanes of the block.
    let mask = u32::MAX >> (32 - thread::block_dim_x());
    // SAFETY: `input` and `output` have a value for each thread, and no other thread accesses this thread's values. All
    // lanes in the mask execute the shuffle together.
    unsafe {
        let value = *input.add(lane as usize);
        let (received, _) = warp::warp_shuffle_idx(mask, value, source, width);
        *output.add(lane as usize) = received;
    }
}
