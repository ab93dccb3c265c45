//! Hints:
//!
//! 1. The guard belongs around the work, and not around the barrier.
//! 2. Make two branches of the one: `if t < 40 { write }`, then the barrier, then `if t < 40 { read }`.
//!
//! A barrier counts all threads of the block that have not ended. It has to be the same barrier for all of them, in code
//! that all of them run.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to 64 elements. There is one block of 64 threads.
#[kernel]
pub unsafe fn barrier_for_all(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: in bounds; each thread writes an element of its own.
    unsafe {
        let mut value = *input.add(t);
        if t < 40 {
            *tile.add(t) = value;
        }
        thread::sync_threads();
        if t < 40 {
            value = *tile.add(39 - t);
        }
        *output.add(t) = value;
    }
}
