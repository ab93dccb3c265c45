//! Hints:
//!
//! 1. Declare an array `values` of 8 elements, in which index `i` holds the element in column `column(i)`. Fill the
//!    array before the sum.
//! 2. `core::array::from_fn` creates an array from a function of the index. For elements beyond the end of the row,
//!    which value does not change a sum of squares?
//! 3. `let values: [f32; 8] = core::array::from_fn(|i| if column(i) < n { *input.add(…) } else { 0.0 });`
//!
//! The loops have a constant number of steps, so the compiler unrolls them and knows every index. All eight loads are
//! in flight at the same time. For a softmax, the array is the same, with -∞ for elements beyond the end.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// Returns to each lane the sum of the values of the warp's lanes.
///
/// # Safety
/// The caller must ensure that all lanes of the warp call the function together.
unsafe fn warp_sum(mut value: f32) -> f32 {
    for bits in [16, 8, 4, 2, 1] {
        // SAFETY: all lanes call the function together.
        value += unsafe { warp::warp_shuffle_xor(u32::MAX, value, bits, 32) }.0;
    }
    value
}

/// # Safety
/// `input` and `output` point to a row of `n` elements for each block of one warp, and `weight` to `n` elements. `n` is
/// at most 256.
#[kernel]
pub unsafe fn row_in_registers(input: *const f32, weight: *const f32, output: *mut f32, n: u32) {
    let first = (thread::block_idx_x() * n) as usize;
    let column = |i: usize| thread::thread_idx_x() + 32 * i as u32;
    // SAFETY: the checks ensure that all columns are below n. No other lane accesses these elements, and all lanes call
    // `warp_sum`.
    unsafe {
        let values: [f32; 8] =
            core::array::from_fn(|i| if column(i) < n { *input.add(first + column(i) as usize) } else { 0.0 });
        let mut sum = 0.0;
        for i in 0..8 {
            sum += values[i] * values[i];
        }
        let factor = 1.0 / GpuFloat::sqrt(warp_sum(sum) / n as f32 + 1e-6);
        for i in 0..8 {
            if column(i) < n {
                *output.add(first + column(i) as usize) = values[i] * factor * *weight.add(column(i) as usize);
            }
        }
    }
}
