//! Rows or columns: the direction of a warp.
//!
//! In a block with two dimensions, neighboring threads differ in `x`. With 32 x 8 threads, the 32 threads of a warp
//! have the same `y`, and `x` ranges from 0 to 31. The words of a matrix row are neighbors in memory. Neighboring words
//! of a column are a whole row apart.
//!
//! This kernel multiplies each row of a matrix by a factor: `output[row][column] = factors[row] * input[row][column]`.
//! The result is correct, but a store request touches 32 sectors. Change the kernel so that a warp accesses the words
//! of one row. The matrix is square, so the launch has enough threads in both directions.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n * n` elements each, and `factors` to `n`. The grid has at least `n` threads in x
/// and in y.
#[kernel]
pub unsafe fn rows_or_columns(input: *const f32, factors: *const f32, output: *mut f32, n: u32) {
    let x = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let y = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    // TODO: a warp must access the words of one row.
    let (row, column) = (x, y);
    if row < n && column < n {
        let i = (row * n + column) as usize;
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *output.add(i) = *factors.add(row as usize) * *input.add(i) };
    }
}
