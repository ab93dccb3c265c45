//! Down, with wrap-around at the end of the segment.

use cuda_std::{thread, warp};
use rung::rung;

/// `shuffle_down` with wrap-around at the end of the segment. Every lane specifies the number of the lane to read,
/// which is `lane + delta` modulo the width. ("Shift within a Warp with Wrap Around", `test_shfl_warp` with a positive
/// offset.)
///
/// # Safety
/// See [`shuffle`](super).
#[rung(
    after = shuffle_down,
    lesson = "values move down and wrap around: each lane specifies the lane to read: lane + delta, modulo the width",
    T = { i32: i32, f32: f32 },
    default_block = 16,
    block_for = |shape| [shape[0] as u32, 1, 1],
    fixed_block,
    grid = |_| [1, 1, 1]
)]
pub unsafe fn shuffle_wrap<T: warp::WarpShuffleValue>(input: *const T, output: *mut T, delta: u32, width: u32) {
    let lane = thread::thread_idx_x();
    // The mask names all lanes of the block.
    let mask = u32::MAX >> (32 - thread::block_dim_x());
    // SAFETY: `input` and `output` have a value for each thread, and no other thread accesses this thread's values. All
    // lanes in the mask execute the shuffle together.
    unsafe {
        let value = *input.add(lane as usize);
        let (received, _) = warp::warp_shuffle_idx(mask, value, lane.wrapping_add(delta), width);
        *output.add(lane as usize) = received;
    }
}
