//! A grid-stride loop: any number of elements with any number of threads.
//!
//! So far there was a thread for each element. Here the grid has a fixed number of threads, fewer than elements. Each
//! thread takes element `i`, its number in the grid, then the one that lies a whole grid further on, and so on to the end.
//!
//! Let the kernel write `output[i] = 2 * input[i] + 1` for every `i` below `n`.
//!
//! `thread::grid_dim_x()` says how many blocks the grid has.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each.
#[kernel]
pub unsafe fn grid_stride(input: *const u32, output: *mut u32, n: u32) {
    // TODO: go on until all elements are done.
    let i = thread::index_1d();
    if i < n {
        // SAFETY: in bounds; each element is one thread's.
        unsafe { *output.add(i as usize) = 2 * *input.add(i as usize) + 1 };
    }
}
