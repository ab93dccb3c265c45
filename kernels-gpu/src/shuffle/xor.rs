//! Butterfly: pairs of lanes swap their values.

use cuda_std::{thread, warp};
use rung::rung;

/// Pairs of lanes swap: every lane reads the lane whose number differs in the bits of `lane_mask`. A reduction that
/// uses this exchange leaves the result in every lane. ("Butterfly Exchange across the Warp", `test_shfl_xor`.)
///
/// # Safety
/// See [`shuffle`](super).
#[rung(
    after = shuffle_wrap_back,
    lesson = "pairs of lanes swap values: one step of a butterfly reduction, which leaves the result in every lane",
    T = { i32: i32, f32: f32 },
    default_block = 16,
    block_for = |shape| [shape[0] as u32, 1, 1],
    fixed_block,
    grid = |_| [1, 1, 1]
)]
pub unsafe fn shuffle_xor<T: warp::WarpShuffleValue>(input: *const T, output: *mut T, lane_mask: u32, width: u32) {
    let lane = thread::thread_idx_x();
    // The mask names all lanes of the block.
    let mask = u32::MAX >> (32 - thread::block_dim_x());
    // SAFETY: `input` and `output` have a value for each thread, and no other thread accesses this thread's values. All
    // lanes in the mask execute the shuffle together.
    unsafe {
        let value = *input.add(lane as usize);
        let (received, _) = warp::warp_shuffle_xor(mask, value, lane_mask, width);
        *output.add(lane as usize) = received;
    }
}
