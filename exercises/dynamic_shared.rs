//! Shared memory whose size the launch chooses.
//!
//! The size of a shared static is a constant. If a kernel must work with any block size, the launch sets the number of bytes
//! of shared memory per block, and `dynamic_shared_mem::<T>()` returns a pointer to them.
//!
//! This kernel turns the elements of each block around, and works for blocks of up to 64 threads. The check launches it with
//! 32, 64, 128 and 256 threads, and with 4 bytes of dynamic shared memory for each. Use those.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `data` points to an element for each thread. The launch gives each block 4 bytes of shared memory for each thread.
#[kernel]
pub unsafe fn dynamic_shared(data: *mut u32) {
    // TODO: as large as the block.
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let threads = thread::block_dim_x() as usize;
    // SAFETY: in bounds; each thread writes elements of its own, and reads after the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(threads - 1 - t);
    }
}
