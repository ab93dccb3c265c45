//! Two dimensions: a thread for each element of a matrix.
//!
//! Blocks and grids can have two dimensions, which suits matrices and images: `x` counts columns, `y` counts rows. A matrix
//! lies in memory row after row, so element (`row`, `column`) is at index `row * columns + column`.
//!
//! Let each thread double one element of `matrix`, which has `rows` rows and `columns` columns. The grid has a thread for
//! each element, and more at the right and at the bottom, so both directions need a guard.
//!
//! `thread::block_idx_y()`, `thread::block_dim_y()` and `thread::thread_idx_y()` are what their namesakes with `x` are.

use cuda_std::prelude::*;

/// # Safety
/// `matrix` points to `rows * columns` elements. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn two_dimensions(matrix: *mut u32, rows: u32, columns: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // TODO: this thread's row, a guard for both directions, and the index of the element.
    let row = 0;
    if column < columns {
        let index = row * columns + column;
        // SAFETY: in bounds, by the guard; each thread has an element of its own.
        unsafe { *matrix.add(index as usize) *= 2 };
    }
}
