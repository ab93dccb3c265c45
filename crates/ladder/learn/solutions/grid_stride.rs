//! Hints:
//!
//! 1. The `if` handles one element. Which construct handles the elements of one thread one after another?
//! 2. The step of the loop is the number of threads in the grid. Compute it from the number of blocks and the threads
//!    per block.
//! 3. `while i < n { …; i += thread::grid_dim_x() * thread::block_dim_x(); }`
//!
//! In each step, neighboring threads access neighboring elements, which is fast: see the next exercises. The kernel
//! works with any grid, so the number of blocks can change without changing the kernel.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each.
#[kernel]
pub unsafe fn grid_stride(input: *const u32, output: *mut u32, n: u32) {
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let mut i = thread::index_1d();
    while i < n {
        // SAFETY: i < n: checked above. Each thread writes separate elements.
        unsafe { *output.add(i as usize) = 2 * *input.add(i as usize) + 1 };
        i += threads;
    }
}
