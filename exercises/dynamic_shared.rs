//! Dynamic shared memory: the launch chooses the size.
//!
//! The size of a shared static is a constant. A kernel that works with any block size needs dynamic shared memory. The
//! launch sets the bytes of dynamic shared memory per block, and `dynamic_shared_mem::<T>()` returns a pointer to it.
//!
//! This kernel reverses the elements of each block. It works for blocks of up to 64 threads, because its tile has 64
//! elements. The check launches blocks of 32, 64, 128 and 256 threads, with 4 bytes of dynamic shared memory per
//! thread. Use that memory.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `data` points to an element for each thread. The launch provides 4 bytes of shared memory per thread of a block.
#[kernel]
pub unsafe fn dynamic_shared(data: *mut u32) {
    // TODO: use dynamic shared memory with one element per thread of the block.
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let threads = thread::block_dim_x() as usize;
    // SAFETY: `data` and the tile have an element for each thread. The reads of the tile follow the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(threads - 1 - t);
    }
}
