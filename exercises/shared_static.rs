//! Shared memory: a static that the threads of a block have in common.
//!
//! A local variable belongs to one thread. *Shared memory* is small, fast memory on the chip that all threads of a block
//! read and write. In Rust it is a static with an attribute:
//!
//! ```text
//! #[address_space(shared)]
//! static mut TILE: MaybeUninit<[u32; 128]> = MaybeUninit::uninit();
//! ```
//!
//! One thing is different from other statics: each block has one copy, and it is uninitialized when the block starts. An
//! initial value would not be written, so the type is `MaybeUninit`. Write an element before you read it.
//!
//! This kernel reverses the elements of each block: each thread writes its element to `tile`, and after a barrier reads the
//! element of the thread at the other end. But here `tile` is a separate array in each thread, in which no other thread has
//! written. Make it shared, with a pointer to its first element: `let tile = (&raw mut TILE).cast::<u32>();`

use cuda_std::prelude::*;
use {core::mem::MaybeUninit, cuda_std::address_space};

/// # Safety
/// `data` points to 128 elements for each block of 128 threads.
#[kernel]
pub unsafe fn shared_static(data: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // TODO: one array for the whole block.
    let mut tile = [0u32; 128];
    let tile = tile.as_mut_ptr();
    // SAFETY: in bounds; each thread writes an element of its own, and reads after the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(127 - t);
    }
}
