//! Hints:
//!
//! 1. The finding names the two lines that race. Which line must run first, for all threads?
//! 2. The barrier goes between the write and the read.
//!
//! On a GPU, the kernel may return the correct result without the barrier, especially with small blocks. The race
//! sanitizer does not depend on timing: it always reports that nothing orders the two accesses.

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
        *tile.add(t) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add((t + 100) % 256);
    }
}
