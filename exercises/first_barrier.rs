//! Barrier: read what other threads have written.
//!
//! The warps of a block run at different speeds. `thread::sync_threads()` is a *barrier*: each thread waits there until
//! all threads of the block have arrived. After the barrier, a thread can read the values that other threads wrote
//! before the barrier.
//!
//! Each thread of this kernel writes an element of shared memory and reads the element of another thread. Two accesses
//! to one element are a *race* if at least one of them writes and nothing orders the two. Find the right position for
//! the barrier.

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
    // SAFETY: the arrays and the tile have an element for each thread, and each thread writes separate elements.
    unsafe {
        // TODO: add a barrier at the right position.
        *tile.add(t) = *input.add(i);
        *output.add(i) = *tile.add((t + 100) % 256);
    }
}
