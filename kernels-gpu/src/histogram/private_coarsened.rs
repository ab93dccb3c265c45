//! Coalesced coarsening: in each step, neighboring threads read neighboring bytes.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, thread};
use rung::rung;

use super::BINS;

/// The number of bytes per thread, as in `histogram_private_coarsened_contiguous`.
const ITEMS: u32 = 16;

/// `histogram_private_coarsened_contiguous` with interleaved bytes: a thread's bytes are `BLOCK` bytes apart.
///
/// In each step, a warp's 32 bytes are one sector, which is read once. (Section 6.4, the entry on coalesced accesses.)
///
/// # Safety
/// See [`histogram`](super).
#[rung(
    after = histogram_private_coarsened_contiguous,
    lesson = "the same 16 bytes, interleaved: a warp reads one sector in each step",
    blocks = [128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS
)]
pub unsafe fn histogram_private_coarsened<const BLOCK: u32>(input: *const u8, bins: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut BLOCK_BINS: MaybeUninit<[u32; BINS]> = MaybeUninit::uninit();
    let block_bins = (&raw mut BLOCK_BINS).cast::<u32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());

    for bin in (tid as usize..BINS).step_by(BLOCK as usize) {
        // SAFETY: bin < 256. One thread writes each counter before the barrier.
        unsafe { *block_bins.add(bin) = 0 };
    }
    thread::sync_threads();

    // The change: the order of the bytes.
    let first = block_idx * BLOCK * ITEMS + tid;
    for i in (0..ITEMS).map(|step| first + step * BLOCK) {
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
