//! Hints:
//!
//! 1. How many threads do all previous blocks have together?
//! 2. The index in the grid is that number plus the index in the block.
//! 3. `let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();`
//!
//! Most kernels start with this line, so cuda_std has a function for it: `thread::index_1d()`.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the grid.
#[kernel]
pub unsafe fn global_index(output: *mut u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // SAFETY: `output` has an element for each thread, and each thread writes a different element.
    unsafe { *output.add(i as usize) = 3 * i + 1 };
}
