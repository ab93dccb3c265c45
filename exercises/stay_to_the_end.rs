//! Find and cure: threads that leave too early.
//!
//! A guard that returns is short and clear: `if i >= n { return; }`. In a kernel with shared memory it is a fault. A thread
//! that has returned writes nothing into the tile, but the others read its place.
//!
//! This kernel adds to each element the one at the other end of its block, where an element behind the end counts as 0. Keep
//! all threads to the end: those without an element put a 0 into their place.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n` elements. The grid has blocks of 128 threads, and a thread for each element, or more.
#[kernel]
pub unsafe fn stay_to_the_end(input: *const u32, output: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (t, i, n) = (thread::thread_idx_x() as usize, thread::index_1d() as usize, n as usize);
    // SAFETY: in bounds, by the guards; each thread writes elements of its own.
    unsafe {
        // TODO: all threads stay to the end.
        if i >= n {
            return;
        }
        let own = *input.add(i);
        *tile.add(t) = own;
        thread::sync_threads();
        *output.add(i) = own.wrapping_add(*tile.add(127 - t));
    }
}
