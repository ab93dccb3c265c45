//! One thread per row.

use cuda_std::thread;
use rung::rung;

use super::row::{RowElement, exp, shift};
use crate::tensor_core::{Bf16, F16, Output as _};

/// Each thread computes a row in three passes: the maximum, the sum of the exponentials, and the quotients.
///
/// The thread subtracts the maximum before the exponential, so the exponential cannot overflow. The subtraction does
/// not change the quotient. Neighboring threads read elements that are a whole row apart, so a warp's load touches 32
/// sectors and uses 2 bytes of each. In addition, most matrices have fewer rows than a GPU has threads.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    lesson = "one thread per row, three passes: a warp's loads are a whole row apart, and there are too few threads",
    default_block = 256,
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_thread_per_row<T: RowElement>(input: *const T, output: *mut T, m: u32, n: u32) {
    let row = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if row >= m {
        return;
    }
    let (first, n) = (row as usize * n as usize, n as usize);
    // SAFETY: the row has n elements, and k < n in all three loops.
    let value = |k: usize| unsafe { *input.add(first + k) }.value();
    let mut max = f32::NEG_INFINITY;
    for k in 0..n {
        max = max.max(value(k));
    }
    let (shift, mut sum) = (shift(max), 0.0);
    for k in 0..n {
        sum += exp(value(k) - shift);
    }
    let factor = 1.0 / sum;
    for k in 0..n {
        // SAFETY: k < n, and no other thread writes this row.
        unsafe { *output.add(first + k) = T::from_f32(exp(value(k) - shift) * factor) };
    }
}
