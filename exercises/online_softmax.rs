//! Online: the maximum and the sum in one pass.
//!
//! A softmax needs the maximum before the sum of the exponentials, so this kernel reads its elements three times. But
//! one pass can compute both: keep the maximum of the elements so far, and the sum of their exponentials relative to
//! *that* maximum. What must happen to the sum when an element is larger than all previous elements?
//!
//! Each thread computes the softmax of one column, so that neighboring threads load neighboring elements. Replace the
//! first two loops with one loop.

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
    // TODO: use one loop.
    for row in 0..rows {
        max = max.max(value(row));
    }
    for row in 0..rows {
        sum += exp(value(row) - max);
    }
    for row in 0..rows {
        // SAFETY: row < rows, and no other thread accesses this column of the output.
        unsafe { *output.add(at(row)) = exp(value(row) - max) / sum };
    }
}
