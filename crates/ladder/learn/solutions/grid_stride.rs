//! Hints:
//!
//! 1. The `if` becomes a `while`, and at its end `i` goes on.
//! 2. The step is the number of all threads: `thread::grid_dim_x() * thread::block_dim_x()`.
//!
//! In each turn neighbouring threads have neighbouring elements, which memory likes, as the next exercises show. And one
//! kernel works with every grid: to try another number of blocks, nothing in it changes.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each.
#[kernel]
pub unsafe fn grid_stride(input: *const u32, output: *mut u32, n: u32) {
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let mut i = thread::index_1d();
    while i < n {
        // SAFETY: in bounds; each element is one thread's.
        unsafe { *output.add(i as usize) = 2 * *input.add(i as usize) + 1 };
        i += threads;
    }
}
