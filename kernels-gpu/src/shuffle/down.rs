//! Down: values move to lower lanes.

use cuda_std::{thread, warp};
use rung::rung;

/// Every lane reads the lane whose number is `delta` higher, so values move down. The last `delta` lanes of a segment
/// keep their values. ("Shift Down within a Warp", `test_shfl_down`.)
///
/// # Safety
/// See [`shuffle`](super).
#[rung(
    after = shuffle_up,
    lesson = "every lane reads the lane delta above it; the last delta lanes keep their values",
    T = { i32: i32, f32: f32 },
    default_block = 16,
    block_for = |shape| [shape[0] as u32, 1, 1],
    fixed_block,
    grid = |_| [1, 1, 1]
)]
pub unsafe fn shuffle_down<T: warp::WarpShuffleValue>(input: *const T, output: *mut T, delta: u32, width: u32) {
    let lane = thread::thread_idx_x();
    // The mask names all lanes of the block.
    let mask = u32::MAX >> (32 - thread::block_dim_x());
    // SAFETY: `input` and `output` have a value for each thread, and no other thread accesses this thread's values. All
    // lanes in the mask execute the shuffle together.
    unsafe {
        let value = *input.add(lane as usize);
        let (received, _) = warp::warp_shuffle_down(mask, value, delta, width);
        *output.add(lane as usize) = received;
    }
}
