//! Shared memory whose size the launch chooses.
//!
//! The size of `shared_array!` is a constant. Where a kernel is to work with any block size, the launch says how many bytes
//! of shared memory each block gets, and `dynamic_shared_mem::<T>()` is the pointer to them.
//!
//! This kernel turns the elements of each block around, and works for blocks of up to 64 threads. The check launches it with
//! 32, 64, 128 and 256 threads, and with 4 bytes of dynamic shared memory for each. Use those.

use cuda_std::prelude::*;
use cuda_std::shared_array;

/// # Safety
/// `data` points to an element for each thread. The launch gives each block 4 bytes of shared memory for each thread.
#[kernel]
pub unsafe fn dynamic_shared(data: *mut u32) {
    // TODO: as large as the block.
    let tile = shared_array![u32; 64];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let threads = thread::block_dim_x() as usize;
    // SAFETY: in bounds; each thread writes elements of its own, and reads after the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(threads - 1 - t);
    }
}
