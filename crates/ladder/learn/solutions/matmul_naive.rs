//! Hints:
//!
//! 1. The sum has `n` terms, so a loop over `i` loads two elements in each step.
//! 2. In row-major order, which index does `a[row][i]` have, and which index does `b[i][column]` have?
//! 3. `sum = GpuFloat::mul_add(*a.add((row * n + i) as usize), *b.add((i * n + column) as usize), sum);`
//!
//! Both loads are coalesced: all lanes read the same word of `a`, and neighboring words of `b`. But the kernel reads
//! each element from global memory `n` times.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `c` point to `n * n` elements. The grid has at least `n` threads in x and in y.
#[kernel]
pub unsafe fn matmul_naive(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if row < n && column < n {
        let mut sum = 0.0;
        for i in 0..n {
            // SAFETY: `row` and `column` are below n, checked above, and so is `i`.
            let (x, y) = unsafe { (*a.add((row * n + i) as usize), *b.add((i * n + column) as usize)) };
            sum = GpuFloat::mul_add(x, y, sum);
        }
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
