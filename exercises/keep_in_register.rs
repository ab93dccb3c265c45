//! Registers: keep a sum where nobody else can see it.
//!
//! A local variable lives in a *register*, which costs nothing to use. This kernel adds up each column of a matrix of 16
//! rows, and keeps the sum in the output: every step reads it from memory and writes it back. The compiler may not change
//! that, because `output` and `input` are pointers, and for all it knows they point to the same memory.
//!
//! Have each thread store once.

use cuda_std::prelude::*;

/// # Safety
/// `input` points to 16 rows of `columns` elements, `output` to `columns` elements. The grid has a thread for each column, or
/// more.
#[kernel]
pub unsafe fn keep_in_register(input: *const f32, output: *mut f32, columns: u32) {
    let column = thread::index_1d();
    if column < columns {
        // SAFETY: in bounds; each thread has a column of its own.
        unsafe {
            // TODO: store once.
            *output.add(column as usize) = 0.0;
            for row in 0..16 {
                *output.add(column as usize) += *input.add((row * columns + column) as usize);
            }
        }
    }
}
