//! Hints:
//!
//! 1. `use cuda_std::shared::dynamic_shared_mem;`
//! 2. `let tile = dynamic_shared_mem::<u32>();`
//!
//! The bytes are counted by the launch: elements times the size of one. Every call gives the same memory, so a kernel that
//! needs two arrays divides it.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

/// # Safety
/// `data` points to an element for each thread. The launch gives each block 4 bytes of shared memory for each thread.
#[kernel]
pub unsafe fn dynamic_shared(data: *mut u32) {
    let tile = dynamic_shared_mem::<u32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let threads = thread::block_dim_x() as usize;
    // SAFETY: in bounds; each thread writes elements of its own, and reads after the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(threads - 1 - t);
    }
}
