//! Hints:
//!
//! 1. The sum so far consists of `exp(x - max)` with the old maximum. With a new maximum, each term should be
//!    `exp(x - new)`. The quotient of the two terms is the same for all elements.
//! 2. That quotient is `exp(max - new)`, so one product corrects the whole sum. If the maximum does not change, the
//!    quotient is 1.
//! 3. `sum = sum * exp(max - new) + exp(x - new);`, with `new` the larger of `max` and the element `x`.
//!
//! Before the first element, the maximum is -∞ and the sum is 0. The factor is `exp(-∞)`, which is 0. The pass computes
//! two exponentials for each element instead of one, but reads the elements once instead of twice.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// Returns e to the power `x`.
fn exp(x: f32) -> f32 {
    GpuFloat::exp2(x * core::f32::consts::LOG2_E)
}

/// # Safety
/// `input` and `output` point to `rows` rows of `columns` elements. No element is infinite.
#[kernel]
pub unsafe fn online_softmax(input: *const f32, output: *mut f32, rows: u32, columns: u32) {
    let column = thread::index_1d();
    if column >= columns {
        return;
    }
    let at = |row: u32| (row * columns + column) as usize;
    // SAFETY: row < rows in all loops, and column < columns.
    let value = |row: u32| unsafe { *input.add(at(row)) };
    let mut max = f32::NEG_INFINITY;
    let mut sum = 0.0;
    for row in 0..rows {
        let x = value(row);
        let new = max.max(x);
        sum = sum * exp(max - new) + exp(x - new);
        max = new;
    }
    for row in 0..rows {
        // SAFETY: row < rows, and no other thread accesses this column of the output.
        unsafe { *output.add(at(row)) = exp(value(row) - max) / sum };
    }
}
