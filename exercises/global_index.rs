//! Many blocks: the number of a thread among all threads of the launch.
//!
//! A block has at most 1024 threads. A launch for more elements than that has many blocks, a *grid*. In every block threads
//! are counted from 0 again, so the number in the block does not tell two blocks' threads apart.
//!
//! The launch has blocks of 128 threads, and a thread for each element. Let each thread compute its number in the whole
//! grid, `i`, and write `3 * i + 1` to element `i`. The threads of block 0 have the numbers 0 to 127, those of block 1
//! have 128 to 255, and so on.
//!
//! You need, besides `thread::thread_idx_x()`:
//! - `thread::block_idx_x()`: the number of this block in the grid, from 0;
//! - `thread::block_dim_x()`: how many threads a block has.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the grid.
#[kernel]
pub unsafe fn global_index(output: *mut u32) {
    // TODO: this is the number in the block. Make it the number in the grid.
    let i = thread::thread_idx_x();
    // SAFETY: each thread has an element of its own.
    unsafe { *output.add(i as usize) = 3 * i + 1 };
}
