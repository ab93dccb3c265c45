//! Shared memory: a static that the threads of a block have in common.
//!
//! A variable of a thread is its own. *Shared memory* is small, fast memory on the chip, one copy for each block, which all
//! threads of the block read and write. In Rust it is a static with a mark:
//!
//! ```text
//! #[address_space(shared)]
//! static mut TILE: MaybeUninit<[u32; 128]> = MaybeUninit::uninit();
//! ```
//!
//! This kernel turns the elements of each block around: each thread puts its element into `tile`, and after a barrier takes
//! the element of the thread at the other end. But `tile` is an array of each thread's own, in which nobody else has
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
