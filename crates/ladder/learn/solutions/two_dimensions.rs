//! Hints:
//!
//! 1. `row` is computed from the three functions that end with `_y`, as `column` is from those with `_x`.
//! 2. The guard has two parts: `row < rows && column < columns`.
//! 3. The index is `row * columns + column`. With `row * rows`, only square matrices work.
//!
//! One guard for the index, `index < rows * columns`, would not do: a thread beyond the end of a row has an index in the
//! next row, and that element would be doubled twice.

use cuda_std::prelude::*;

/// # Safety
/// `matrix` points to `rows * columns` elements. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn two_dimensions(matrix: *mut u32, rows: u32, columns: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if row < rows && column < columns {
        let index = row * columns + column;
        // SAFETY: in bounds, by the guard; each thread has an element of its own.
        unsafe { *matrix.add(index as usize) *= 2 };
    }
}
