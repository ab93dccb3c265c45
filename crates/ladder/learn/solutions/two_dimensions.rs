//! Hints:
//!
//! 1. `column` comes from three functions with `_x`. The functions with `_y` give `row` in the same way.
//! 2. The bounds check needs two conditions, one for each direction. Is the index correct for a matrix that is not
//!    square?
//! 3. `if row < rows && column < columns { let index = row * columns + column; … }`
//!
//! One check of the index, `index < rows * columns`, is not enough. A thread to the right of a row has an index in the
//! next row, so two threads would double the same element.

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
