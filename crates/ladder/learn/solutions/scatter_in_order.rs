//! Hints:
//!
//! 1. The block needs 256 words of shared memory, and one barrier between the two parts.
//! 2. After the barrier, a thread has a different key than before: the key at place `t`. It needs the digit of this
//!    key.
//! 3. `*tile.add(place as usize) = key;`, `thread::sync_threads();`, `let key = *tile.add(t as usize);`
//!
//! Except where the digit changes, neighboring threads now have neighboring places in the output.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input`, `places` and `output` point to 256 elements for each block of 256 threads, and `starts` to 16. The places
/// of a block are 0 to 255, and no two keys have the same place in the output.
#[kernel]
pub unsafe fn scatter_in_order(input: *const u32, places: *const u32, starts: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 256]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let i = thread::index_1d() as usize;
    let starts = starts.wrapping_add(16 * thread::block_idx_x() as usize);
    // SAFETY: the arrays have an element for each thread, a digit is below 16, and each place has one writer. The tile
    // is read after the barrier.
    unsafe {
        let (key, place) = (*input.add(i), *places.add(i));
        *tile.add(place as usize) = key;
        thread::sync_threads();
        let place = thread::thread_idx_x();
        let key = *tile.add(place as usize);
        let digit = key % 16;
        *output.add((*starts.add(digit as usize)).wrapping_add(place) as usize) = key;
    }
}
