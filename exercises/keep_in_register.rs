//! Registers: accumulate in a local variable.
//!
//! A local variable is in a *register*, which an instruction reads without accessing memory. This kernel sums each
//! column of a matrix of 16 rows, and keeps the sum in the output. Each step reads the sum from memory and writes it
//! back. The compiler cannot change that, because the pointers `output` and `input` could point to the same memory.
//!
//! Change the kernel so that each thread stores only once.

use cuda_std::prelude::*;

/// # Safety
/// `input` points to 16 rows of `columns` elements, and `output` to `columns` elements. The grid has at least one
/// thread for each column.
#[kernel]
pub unsafe fn keep_in_register(input: *const f32, output: *mut f32, columns: u32) {
    let column = thread::index_1d();
    if column < columns {
        // SAFETY: column < columns: checked above. Each thread writes a separate element.
        unsafe {
            // TODO: store once.
            *output.add(column as usize) = 0.0;
            for row in 0..16 {
                *output.add(column as usize) += *input.add((row * columns + column) as usize);
            }
        }
    }
}
