//! Hints:
//!
//! 1. Shared memory is uninitialized when a block starts. What must happen to the counters before the loop?
//! 2. In the loop, `tile` replaces `counts`. Only the threads of a block share it, so which of the two imported
//!    functions is enough?
//! 3. After the loop and a barrier: `atomic_fetch_add_u32_device(counts.add(t), Relaxed, *tile.add(t));`
//!
//! This is called *privatization*: each block has a private copy of the result, and the copies are combined at the end.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` values below 64, and `counts` to 64 zeros. Blocks have 64 threads.
#[kernel]
pub unsafe fn private_histogram(input: *const u32, counts: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    let threads = thread::grid_dim_x() * 64;
    let mut i = thread::index_1d();
    // SAFETY: i < n, and every value is below 64. All threads access the counters with atomics only, between the
    // barriers.
    unsafe {
        *tile.add(t) = 0;
        thread::sync_threads();
        while i < n {
            atomic_fetch_add_u32_block(tile.add(*input.add(i as usize) as usize), Relaxed, 1);
            i += threads;
        }
        thread::sync_threads();
        atomic_fetch_add_u32_device(counts.add(t), Relaxed, *tile.add(t));
    }
}
