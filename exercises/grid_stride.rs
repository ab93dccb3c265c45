//! Grid-stride loop: any number of elements with any number of threads.
//!
//! In the previous exercises, the grid had a thread for each element. Here the grid has fewer threads than elements.
//! Each thread starts with element `i`, its index in the grid. The thread then adds the number of threads in the grid
//! to `i`, and repeats this until `i` reaches `n`.
//!
//! Compute `output[i] = 2 * input[i] + 1` for every `i` below `n`.
//!
//! `thread::grid_dim_x()` returns the number of blocks in the grid.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each.
#[kernel]
pub unsafe fn grid_stride(input: *const u32, output: *mut u32, n: u32) {
    // TODO: continue until all elements are done.
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n: checked above. Each thread writes separate elements.
        unsafe { *output.add(i as usize) = 2 * *input.add(i as usize) + 1 };
    }
}
