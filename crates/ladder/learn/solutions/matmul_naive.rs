//! Hints:
//!
//! 1. `for i in 0..n`: two loads and one `mul_add`.
//! 2. `a[row][i]` is at `row * n + i`, `b[i][column]` at `i * n + column`.
//!
//! Both reads are good ones: all lanes read the same word of `a`, and neighbouring words of `b`. But each element is read `n`
//! times from global memory.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `c` point to `n * n` elements. The grid has `n` threads in x and in y, or more.
#[kernel]
pub unsafe fn matmul_naive(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if row < n && column < n {
        let mut sum = 0.0;
        for i in 0..n {
            // SAFETY: in bounds.
            let (x, y) = unsafe { (*a.add((row * n + i) as usize), *b.add((i * n + column) as usize)) };
            sum = GpuFloat::mul_add(x, y, sum);
        }
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
