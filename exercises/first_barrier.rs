//! A barrier: read what others have written.
//!
//! The threads of a block do not run in step: one warp may be far ahead of another. `thread::sync_threads()` is a
//! *barrier*: no thread goes on before all threads of the block have come to it. What was written before the barrier may be
//! read after it.
//!
//! Each thread of this kernel writes its element into shared memory and reads that of another thread. Two accesses to the
//! same element, one of them a write, that nothing orders, are a *race*. Find the place for the barrier.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to 256 elements for each block of 256 threads.
#[kernel]
pub unsafe fn first_barrier(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 256]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds; each thread writes an element of its own.
    unsafe {
        // TODO: find the place for a barrier.
        *tile.add(t) = *input.add(i);
        *output.add(i) = *tile.add((t + 100) % 256);
    }
}
