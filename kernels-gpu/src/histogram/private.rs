//! Privatization: a copy of the counters for each block.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, thread};
use rung::rung;

use super::BINS;

/// Each block counts in shared memory and finally adds its 256 counters to the global counters.
///
/// Only threads of the same block contend for a counter. The counters are on the multiprocessor, so an atomic operation
/// takes a few cycles. An atomic operation in global memory needs a trip to the L2 cache and back. But with one byte
/// per thread, a block of 256 threads performs up to 256 global additions for only 256 bytes. (Section 6.4, the entry
/// "privatization".)
///
/// # Safety
/// See [`histogram`](super).
#[rung(
    after = histogram_global,
    lesson = "a copy of the counters in each block's shared memory: only the threads of one block contend",
    blocks = [128, 256, 512, 1024],
    default_block = 256
)]
pub unsafe fn histogram_private<const BLOCK: u32>(input: *const u8, bins: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut BLOCK_BINS: MaybeUninit<[u32; BINS]> = MaybeUninit::uninit();
    let block_bins = (&raw mut BLOCK_BINS).cast::<u32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());

    for bin in (tid as usize..BINS).step_by(BLOCK as usize) {
        // SAFETY: bin < 256. One thread writes each counter before the barrier.
        unsafe { *block_bins.add(bin) = 0 };
    }
    thread::sync_threads();

    let i = block_idx * BLOCK + tid;
    if i < n {
        // SAFETY: i < n, and a byte is below 256. Between the barriers, the counters are accessed by atomics only.
        unsafe {
            let byte = *input.add(i as usize);
            atomic_fetch_add_u32_block(block_bins.add(byte as usize), Relaxed, 1);
        }
    }

    thread::sync_threads();
    for bin in (tid as usize..BINS).step_by(BLOCK as usize) {
        // SAFETY: bin < 256. No thread writes the block's counters after the barrier.
        let count = unsafe { *block_bins.add(bin) };
        // A counter of 0 needs no atomic addition.
        if count > 0 {
            // SAFETY: bin < 256, and all blocks access the global counters by atomics.
            unsafe { atomic_fetch_add_u32_device(bins.add(bin), Relaxed, count) };
        }
    }
}
