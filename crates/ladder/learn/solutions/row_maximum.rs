//! Hints:
//!
//! 1. A loop before the two other loops finds the maximum. `f32` has a method `max`.
//! 2. The elements of a row may all be far below 0. The initial maximum must be less than every element.
//! 3. `let mut max = f32::NEG_INFINITY;`, then `max = max.max(value(k));` in a loop.
//!
//! Now every exponential is between 0 and 1, and the exponential of the maximum is 1. So the sum is at least 1 and at
//! most `n`. An exponential can still be too small for an `f32`. Then the exponential and its quotient are 0.

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
    let mut max = f32::NEG_INFINITY;
    for k in 0..n {
        max = max.max(value(k));
    }
    let mut sum = 0.0;
    for k in 0..n {
        sum += exp(value(k) - max);
    }
    for k in 0..n {
        // SAFETY: k < n, and no other thread accesses this row of the output.
        unsafe { *output.add(first + k) = exp(value(k) - max) / sum };
    }
}
