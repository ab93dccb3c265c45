//! Privatization: fewer atomics on global memory.
//!
//! All blocks count in the same 64 words of global memory, with one atomic for each of `n` values. Atomics on shared
//! memory are faster. Let each block count in 64 counters in shared memory, and add these counters to the global
//! counters at the end. A block then needs only 64 atomics on global memory (2 requests from its 2 warps) for any
//! number of values.
//!
//! The block has 64 threads and processes the values in a grid-stride loop. There are three steps, with a barrier
//! between them. First, every thread sets one counter to 0. Then the block counts in `tile`. Finally, every thread adds
//! one counter to the global counter.

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
        // TODO: count in `tile`, and add its counters to the global counters.
        while i < n {
            atomic_fetch_add_u32_device(counts.add(*input.add(i as usize) as usize), Relaxed, 1);
            i += threads;
        }
    }
}
