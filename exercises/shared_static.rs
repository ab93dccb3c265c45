//! Shared memory: a static for all threads of a block.
//!
//! A local variable belongs to one thread. *Shared memory* is small, fast memory on the chip, which all threads of a
//! block can read and write. In Rust it is a static with an attribute:
//!
//!     #[address_space(shared)]
//!     static mut TILE: MaybeUninit<[u32; 128]> = MaybeUninit::uninit();
//!
//! Each block has one copy of the static, and the copy is uninitialized when the block starts. The type is
//! `MaybeUninit`, because the GPU would not write an initial value. A thread must write each element before any thread
//! reads it.
//!
//! This kernel reverses the elements of each block. Each thread writes its element to `tile`, and after a barrier reads
//! the element of the thread at the opposite position. But here `tile` is a separate array in each thread, so no other
//! thread has written to it. Use shared memory: `let tile = (&raw mut TILE).cast::<u32>();` is the pointer to the first
//! element.

use cuda_std::prelude::*;
use {core::mem::MaybeUninit, cuda_std::address_space};

/// # Safety
/// `data` points to 128 elements for each block of 128 threads.
#[kernel]
pub unsafe fn shared_static(data: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // TODO: use one array for the whole block.
    let mut tile = [0u32; 128];
    let tile = tile.as_mut_ptr();
    // SAFETY: `data` and the tile have an element for each thread. The reads of the tile follow the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(127 - t);
    }
}
