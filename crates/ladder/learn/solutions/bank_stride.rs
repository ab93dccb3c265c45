//! Hints:
//!
//! 1. Neighbouring lanes should want neighbouring words, in each of the two reads.
//! 2. Thread `t` takes words `t` and `t + 128`.
//!
//! A stride of 2 words costs two wavefronts, one of 4 costs four, one of 32 costs all 32. Odd strides cost nothing.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to 256 words, `total` to one that is 0. There is one block of 128 threads.
#[kernel]
pub unsafe fn bank_stride(input: *const u32, total: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 256]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: in bounds; words are read after the barrier.
    unsafe {
        *tile.add(t) = *input.add(t);
        *tile.add(t + 128) = *input.add(t + 128);
        thread::sync_threads();
        let sum = (*tile.add(t)).wrapping_add(*tile.add(t + 128));
        cuda_std::atomic::mid::atomic_fetch_add_u32_device(total, core::sync::atomic::Ordering::Relaxed, sum);
    }
}
