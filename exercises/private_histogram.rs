//! Private counters: fewer atomics on global memory.
//!
//! All blocks count in the same 64 words of global memory, one atomic for each of `n` values. Shared memory is nearer. Let
//! each block count in 64 counters of its own there, and add those to the global ones at its end: 64 atomics a block, however
//! many values it has.
//!
//! The block has 64 threads and goes through the values with a grid-stride loop. The steps, with a barrier between each two:
//! every thread writes a 0 into its own counter; the block counts, with atomics on `tile`; every thread adds its own counter
//! to the global one.

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
        // TODO: count in `tile`, and add its counters to the global ones.
        while i < n {
            atomic_fetch_add_u32_device(counts.add(*input.add(i as usize) as usize), Relaxed, 1);
            i += threads;
        }
    }
}
