//! A row in registers: an RMSNorm that reads each element once.
//!
//! An RMSNorm divides each element of a row by the root of the row's mean square, and multiplies it by the weight of
//! its column: `x / sqrt(mean(x²) + 1e-6) * weight`. As in a softmax, the whole row must be read before the first
//! result is known.
//!
//! One warp computes a row of at most 256 elements. This kernel loads each element twice. Load the elements of a lane
//! once, into an array of 8, and use the array both times. The array must be in registers, so the compiler must know
//! every index. Array elements beyond the end of the row must not change the sum.

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
        // TODO: load each element once.
        let mut sum = 0.0;
        for i in 0..8 {
            if column(i) < n {
                let x = *input.add(first + column(i) as usize);
                sum += x * x;
            }
        }
        let factor = 1.0 / GpuFloat::sqrt(warp_sum(sum) / n as f32 + 1e-6);
        for i in 0..8 {
            if column(i) < n {
                let x = *input.add(first + column(i) as usize);
                *output.add(first + column(i) as usize) = x * factor * *weight.add(column(i) as usize);
            }
        }
    }
}
