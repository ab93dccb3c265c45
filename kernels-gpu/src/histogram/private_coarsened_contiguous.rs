//! Thread coarsening: 16 neighboring bytes per thread.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, thread};
use rung::rung;

use super::BINS;

/// The number of bytes per thread. With 16 bytes, a block of 256 threads adds to one global counter per 16 bytes of
/// input. With more bytes per thread, small inputs would have too few blocks.
const ITEMS: u32 = 16;

/// `histogram_private` with 16 bytes per thread. The grid has a sixteenth of the blocks, so only a sixteenth of the
/// copies have to be zeroed and added to the global counters.
///
/// A thread's bytes are contiguous, which is the usual division of work on a CPU. But here, in each step, the 32
/// threads of a warp read bytes that are 16 bytes apart. So each step touches 16 sectors instead of one, and each
/// sector is read in 16 steps. (Section 6.4, the entry "thread coarsening".)
///
/// # Safety
/// See [`histogram`](super).
#[rung(
    after = histogram_private,
    lesson = "16 bytes per thread: a sixteenth of the copies to write out, but strided reads",
    blocks = [128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS
)]
pub unsafe fn histogram_private_coarsened_contiguous<const BLOCK: u32>(input: *const u8, bins: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut BLOCK_BINS: MaybeUninit<[u32; BINS]> = MaybeUninit::uninit();
    let block_bins = (&raw mut BLOCK_BINS).cast::<u32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());

    for bin in (tid as usize..BINS).step_by(BLOCK as usize) {
        // SAFETY: bin < 256. One thread writes each counter before the barrier.
        unsafe { *block_bins.add(bin) = 0 };
    }
    thread::sync_threads();

    let first = (block_idx * BLOCK + tid) * ITEMS;
    for i in (0..ITEMS).map(|step| first + step) {
        if i < n {
            // SAFETY: i < n, and a byte is below 256. Between the barriers, the counters are accessed by atomics only.
            unsafe {
                let byte = *input.add(i as usize);
                atomic_fetch_add_u32_block(block_bins.add(byte as usize), Relaxed, 1);
            }
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
