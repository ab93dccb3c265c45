//! Two dimensions: a thread for each element of a matrix.
//!
//! Blocks and grids can have two dimensions, which suits matrices and images: `x` counts columns, and `y` counts rows.
//! A matrix is stored in *row-major* order: the rows follow one another, so element (`row`, `column`) is at index `row
//! * columns + column`.
//!
//! Let each thread double one element of `matrix`, which has `rows` rows and `columns` columns. The grid has a thread
//! for each element, and extra threads on the right and at the bottom. Both directions need a bounds check.
//!
//! The functions for `y` are `thread::block_idx_y()`, `thread::block_dim_y()` and `thread::thread_idx_y()`.

use cuda_std::prelude::*;

/// # Safety
/// `matrix` points to `rows * columns` elements. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn two_dimensions(matrix: *mut u32, rows: u32, columns: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // TODO: compute the row, and check the bounds of both directions.
    let row = 0;
    if column < columns {
        let index = row * columns + column;
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *matrix.add(index as usize) *= 2 };
    }
}
