//! Hints:
//!
//! 1. Which words should neighboring lanes read, in each of the two loads?
//! 2. A load without conflicts reads 32 neighboring words. Every word of the tile must be read once.
//! 3. `let sum = (*tile.add(t)).wrapping_add(*tile.add(t + 128));`
//!
//! A load with a stride of 2 words needs 2 wavefronts, with a stride of 4 words 4, and with a stride of 32 words 32. An
//! odd stride has no conflicts.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to 256 words, and `total` to a 0. There is one block of 128 threads.
#[kernel]
pub unsafe fn bank_stride(input: *const u32, total: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 256]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the tile has 256 words, each word has one writer, and the words are read after the barrier.
    unsafe {
        *tile.add(t) = *input.add(t);
        *tile.add(t + 128) = *input.add(t + 128);
        thread::sync_threads();
        let sum = (*tile.add(t)).wrapping_add(*tile.add(t + 128));
        cuda_std::atomic::mid::atomic_fetch_add_u32_device(total, core::sync::atomic::Ordering::Relaxed, sum);
    }
}
