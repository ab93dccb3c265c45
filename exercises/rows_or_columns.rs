//! Rows or columns: which way the threads of a warp lie.
//!
//! In a block of two dimensions, `x` counts fastest: with 32 x 8 threads, the 32 threads of a warp have the same `y` and
//! `x` from 0 to 31. The words of a row of a matrix are neighbours in memory; the words of a column are a whole row apart.
//!
//! This kernel multiplies each row of a matrix by a factor of its own: `output[row][column] = factors[row] *
//! input[row][column]`. It is right, and a store touches 32 sectors. Exchange what `x` and `y` stand for, here in the kernel,
//! so that a warp takes words of one row. The launch has threads enough both ways: the matrix is a square.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n * n` elements each, `factors` to `n`. The grid has `n` threads in x and in y, or more.
#[kernel]
pub unsafe fn rows_or_columns(input: *const f32, factors: *const f32, output: *mut f32, n: u32) {
    let x = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let y = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    // TODO: a warp should take the words of a row.
    let (row, column) = (x, y);
    if row < n && column < n {
        let i = (row * n + column) as usize;
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *output.add(i) = *factors.add(row as usize) * *input.add(i) };
    }
}
