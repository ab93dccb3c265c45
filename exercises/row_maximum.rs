//! The maximum first: a softmax that does not overflow.
//!
//! The softmax of a row divides `exp(x)` of each element by the sum of all `exp(x)` of the row. An `f32` holds numbers
//! up to 3.4e38, and `exp(89)` is larger, so it becomes infinite. The quotient of two infinities is NaN.
//!
//! The quotient does not change if the same number is subtracted from all elements of a row. Subtract the row's
//! maximum. Then the largest exponential is 1. Each thread computes a row of `n` elements. Some elements are -∞, and
//! their softmax is 0.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// Returns e to the power `x`.
fn exp(x: f32) -> f32 {
    GpuFloat::exp2(x * core::f32::consts::LOG2_E)
}

/// # Safety
/// `input` and `output` point to `m` rows of `n` elements.
#[kernel]
pub unsafe fn row_maximum(input: *const f32, output: *mut f32, m: u32, n: u32) {
    let row = thread::index_1d();
    if row >= m {
        return;
    }
    let (first, n) = ((row * n) as usize, n as usize);
    // SAFETY: the row has n elements, and k < n in all loops.
    let value = |k: usize| unsafe { *input.add(first + k) };
    // TODO: compute the maximum of the row.
    let max = 0.0_f32;
    let mut sum = 0.0;
    for k in 0..n {
        sum += exp(value(k) - max);
    }
    for k in 0..n {
        // SAFETY: k < n, and no other thread accesses this row of the output.
        unsafe { *output.add(first + k) = exp(value(k) - max) / sum };
    }
}
