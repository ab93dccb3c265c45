//! Many blocks: the index of a thread in the grid.
//!
//! A block has at most 1024 threads. A launch for more elements has many blocks, which form a *grid*. Each block
//! numbers its threads from 0, so two threads in different blocks can have the same index in their blocks.
//!
//! The launch has blocks of 128 threads, and one thread for each element. Compute the index `i` of a thread in the
//! whole grid: block 0 has the indices 0 to 127, block 1 has 128 to 255, and so on. The thread then writes `3 * i + 1`
//! to element `i`.
//!
//! You need `thread::thread_idx_x()` and:
//! - `thread::block_idx_x()`: the index of this block in the grid, from 0;
//! - `thread::block_dim_x()`: the number of threads in a block.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the grid.
#[kernel]
pub unsafe fn global_index(output: *mut u32) {
    // TODO: this is the index in the block. Compute the index in the grid.
    let i = thread::thread_idx_x();
    // SAFETY: `output` has an element for each thread, and each thread writes a different element.
    unsafe { *output.add(i as usize) = 3 * i + 1 };
}
