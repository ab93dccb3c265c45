//! Hints:
//!
//! 1. How many threads are there in the blocks before this one?
//! 2. `block_idx_x() * block_dim_x()` threads come before this block.
//! 3. Add this thread's number in its block. `thread::index_1d()` is the same in one call.
//!
//! This is the line with which most kernels begin, so cuda_std has it as `thread::index_1d()`.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the grid.
#[kernel]
pub unsafe fn global_index(output: *mut u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // SAFETY: each thread has an element of its own.
    unsafe { *output.add(i as usize) = 3 * i + 1 };
}
