//! Matrix product: one thread for each element of the result.
//!
//! Element (`row`, `column`) of the product `c = a * b` is the sum over `i` of `a[row][i] * b[i][column]`. All matrices
//! are square, with `n` rows, and row-major. The threads of a warp differ in `column`.
//!
//! Compute the sum. `cuda_std::GpuFloat::mul_add(x, y, sum)` computes `x * y + sum` in one instruction.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `c` point to `n * n` elements. The grid has at least `n` threads in x and in y.
#[kernel]
pub unsafe fn matmul_naive(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if row < n && column < n {
        // TODO: compute the sum.
        let sum = 0.0;
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
