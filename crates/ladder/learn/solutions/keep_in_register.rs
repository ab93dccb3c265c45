//! Hints:
//!
//! 1. Which variable changes in each step of the loop, and where is it stored?
//! 2. Add up in a local variable, and write the variable to the output after the loop.
//! 3. `let mut sum = 0.0;` before the loop, `sum += …` in the loop, and one store of `sum` after the loop.
//!
//! In C++, `__restrict__` tells the compiler that pointers do not overlap. Raw pointers in Rust have no such marker. A
//! local variable has the same effect, because no other thread can access it.

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
            let mut sum = 0.0;
            for row in 0..16 {
                sum += *input.add((row * columns + column) as usize);
            }
            *output.add(column as usize) = sum;
        }
    }
}
