//! Hints:
//!
//! 1. The threads of a warp differ in `x`. Should these threads differ in the row or in the column?
//! 2. Neighboring columns are neighbors in memory, so `x` must be the column.
//! 3. `let (row, column) = (y, x);`
//!
//! All threads of a warp now read the same factor, so one sector is enough for it.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n * n` elements each, and `factors` to `n`. The grid has at least `n` threads in x
/// and in y.
#[kernel]
pub unsafe fn rows_or_columns(input: *const f32, factors: *const f32, output: *mut f32, n: u32) {
    let x = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let y = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    let (row, column) = (y, x);
    if row < n && column < n {
        let i = (row * n + column) as usize;
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *output.add(i) = *factors.add(row as usize) * *input.add(i) };
    }
}
