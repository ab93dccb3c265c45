//! Hints:
//!
//! 1. The kernel computes `column` with three functions whose names end in `_x`. The functions that end in `_y` give
//!    `row` in the same way.
//! 2. The bounds check needs two conditions, one for each direction. Is the index correct for a matrix that is not
//!    square?
//! 3. `if row < rows && column < columns { let index = row * columns + column; … }`
//!
//! A single check of the index, `index < rows * columns`, is not enough. A thread beyond the right end of a row has an
//! index in the next row, so two threads would double the same element.

use cuda_std::prelude::*;

/// # Safety
/// `matrix` points to `rows * columns` elements. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn two_dimensions(matrix: *mut u32, rows: u32, columns: u32) {
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if row < rows && column < columns {
        let index = row * columns + column;
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *matrix.add(index as usize) *= 2 };
    }
}
