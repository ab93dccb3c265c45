//! Hints:
//!
//! 1. The static has a fixed size. Which function of the task replaces the static and the line with the pointer?
//! 2. The function is in `cuda_std::shared`. The elements are `u32`.
//! 3. `let tile = dynamic_shared_mem::<u32>();`
//!
//! The launch specifies bytes: the number of elements times the size of an element. Every call to `dynamic_shared_mem`
//! returns a pointer to the same memory, so a kernel that needs two arrays must divide the memory.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

/// # Safety
/// `data` points to an element for each thread. The launch provides 4 bytes of shared memory per thread of a block.
#[kernel]
pub unsafe fn dynamic_shared(data: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let threads = thread::block_dim_x() as usize;
    // SAFETY: `data` and the tile have an element for each thread. The reads of the tile follow the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(threads - 1 - t);
    }
}
