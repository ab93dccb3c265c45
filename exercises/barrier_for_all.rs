//! Find and cure: a barrier that some threads never come to.
//!
//! Only the first 40 of 64 threads have work to do with each other here, and the barrier went into the branch with the
//! work. The other 24 never come to it. The hardware may wait for them for ever, or go on without them; nobody may rely on
//! either.
//!
//! Rewrite it so that every thread comes to the barrier, and only the first 40 do the work.

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
        // TODO: all threads come to the barrier.
        if t < 40 {
            *tile.add(t) = value;
            thread::sync_threads();
            value = *tile.add(39 - t);
        }
        *output.add(t) = value;
    }
}
