//! Hints:
//!
//! 1. `*tile.add(t) = 0;` and a barrier: shared memory is not zero at the start of a block.
//! 2. In the loop, `tile` takes the place of `counts`. A block's threads share it: `atomic_fetch_add_u32_block` is enough.
//! 3. After another barrier: `atomic_fetch_add_u32_device(counts.add(t), Relaxed, *tile.add(t));`
//!
//! This is called *privatization*: copies of a result that few threads share, put together at the end.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` values below 64, `counts` to 64 zeros. Blocks have 64 threads.
#[kernel]
pub unsafe fn private_histogram(input: *const u32, counts: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    let threads = thread::grid_dim_x() * 64;
    let mut i = thread::index_1d();
    // SAFETY: in bounds; counters are counted with atomics only, between barriers.
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
