//! Butterfly of arrays: pairs of lanes swap four values each.

use core::array;

use cuda_std::{thread, warp};
use rung::rung;

/// The number of values per thread, each in a register.
const REGISTERS: usize = 4;

/// `shuffle_xor` with four registers per lane: four shuffles exchange four neighboring values at a time.
///
/// The array stays in registers, because every index is known when the kernel is compiled. The number of lanes is a
/// quarter of the number of values, so the requested width can exceed the number of lanes. The host therefore passes
/// `clamped_width`, the smaller of the width and the number of lanes. ("Exchange Values of an Array across a Warp",
/// `test_shfl_xor_array`.)
///
/// # Safety
/// See [`shuffle`](super), with `clamped_width` as the width.
#[rung(
    after = shuffle_xor,
    lesson = "the same with an array of four registers per lane: four neighboring values move together",
    T = { i32: i32, f32: f32 },
    default_block = 4,
    block_for = |shape| [shape[0] as u32 / REGISTERS as u32, 1, 1],
    fixed_block,
    items_per_thread = REGISTERS,
    grid = |_| [1, 1, 1]
)]
pub unsafe fn shuffle_xor_array<T: warp::WarpShuffleValue>(
    input: *const T,
    output: *mut T,
    lane_mask: u32,
    clamped_width: u32,
) {
    let first = thread::thread_idx_x() as usize * REGISTERS;
    // The mask names all lanes of the block.
    let mask = u32::MAX >> (32 - thread::block_dim_x());
    // SAFETY: `input` and `output` have four values for each thread, and no other thread accesses this thread's values.
    // All lanes in the mask execute the shuffles together.
    unsafe {
        let values: [T; REGISTERS] = array::from_fn(|k| *input.add(first + k));
        let received = values.map(|value| warp::warp_shuffle_xor(mask, value, lane_mask, clamped_width).0);
        for (k, value) in received.into_iter().enumerate() {
            *output.add(first + k) = value;
        }
    }
}
