//! Hints:
//!
//! 1. Add up in a variable: `let mut sum = 0.0;` before the loop.
//! 2. Write it to the output behind the loop, once.
//!
//! In C++ one writes `__restrict__` to tell the compiler that pointers do not meet. Rust's raw pointers have no such word;
//! a local variable says it better, for there is no doubt whose it is.

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
            let mut sum = 0.0;
            for row in 0..16 {
                sum += *input.add((row * columns + column) as usize);
            }
            *output.add(column as usize) = sum;
        }
    }
}
