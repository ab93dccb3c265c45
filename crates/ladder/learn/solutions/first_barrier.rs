//! Hints:
//!
//! 1. The check names the two lines that race. Which of them has to come first, for all threads?
//! 2. `thread::sync_threads();` belongs between the write and the read.
//!
//! Without it the result may well be right on a GPU, today and with small blocks. The check does not guess: it finds that
//! nothing orders the two accesses.

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
        *tile.add(t) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add((t + 100) % 256);
    }
}
