//! Banks: from 2 wavefronts per load to 1.
//!
//! Shared memory has 32 *banks*: word `i` is in bank `i % 32`, and each bank delivers one word at a time. If the 32
//! lanes of a warp read words in 32 different banks, all words arrive in one pass, called a *wavefront*. If two lanes
//! read different words in the same bank, there is a *bank conflict*, and the load needs an extra wavefront.
//!
//! Each thread of this kernel adds two words of the tile: thread `t` reads words `2 * t` and `2 * t + 1`. Lanes 0 and
//! 16 read words 0 and 32, which are in the same bank. Only the sum of all words, which is added to `total`, matters.
//! Choose other pairs.

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
        // TODO: choose other pairs.
        let sum = (*tile.add(2 * t)).wrapping_add(*tile.add(2 * t + 1));
        cuda_std::atomic::mid::atomic_fetch_add_u32_device(total, core::sync::atomic::Ordering::Relaxed, sum);
    }
}
