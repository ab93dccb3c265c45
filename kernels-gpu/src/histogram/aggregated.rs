//! Aggregation: a register counts equal bytes before their count is added in shared memory.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::{address_space, thread};
use rung::rung;

use super::BINS;

/// The number of bytes per thread, as in `histogram_private_coarsened_contiguous`.
const ITEMS: u32 = 16;

/// `histogram_private_coarsened`, except that a thread counts a run of equal bytes in a register. When a different byte
/// follows, the thread adds the count to the block's copy of the counters.
///
/// If one value dominates, most additions disappear, and so does the contention for its counter. If all values are
/// equally likely, few runs are longer than one byte, and the search for runs costs a little. But from compute
/// capability 8.0 on, the previous rung has no such contention: the hardware counts the lanes that add 1 to a word, and
/// adds the count once (`ATOMS.POPC.INC`). The hardware does so only for additions of 1, not for the larger counts of
/// runs. For 2^28 constant bytes, an H100 80GB HBM3 takes 418 µs with runs and 401 µs without. A run consists of bytes
/// that the same thread reads, which are `BLOCK` bytes apart. (Section 6.4, the entry "privatization", which refers to
/// a later chapter for the kernel.)
///
/// # Safety
/// See [`histogram`](super).
#[rung(
    after = histogram_private_coarsened,
    lesson = "runs of equal bytes are counted in a register: one atomic per run, a gain only on old GPUs",
    blocks = [128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS
)]
pub unsafe fn histogram_aggregated<const BLOCK: u32>(input: *const u8, bins: *mut u32, n: u32) {
    #[address_space(shared)]
    static mut BLOCK_BINS: MaybeUninit<[u32; BINS]> = MaybeUninit::uninit();
    let block_bins = (&raw mut BLOCK_BINS).cast::<u32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());

    for bin in (tid as usize..BINS).step_by(BLOCK as usize) {
        // SAFETY: bin < 256. One thread writes each counter before the barrier.
        unsafe { *block_bins.add(bin) = 0 };
    }
    thread::sync_threads();

    let (mut value, mut run) = (0, 0);
    let first = block_idx * BLOCK * ITEMS + tid;
    for i in (0..ITEMS).map(|step| first + step * BLOCK) {
        if i < n {
            // SAFETY: i < n.
            let byte = unsafe { *input.add(i as usize) };
            if byte != value && run > 0 {
                // SAFETY: a byte is below 256. Between the barriers, the counters are accessed by atomics only.
                unsafe { atomic_fetch_add_u32_block(block_bins.add(value as usize), Relaxed, run) };
                run = 0;
            }
            value = byte;
            run += 1;
        }
    }
    if run > 0 {
        // SAFETY: a byte is below 256. Between the barriers, the counters are accessed by atomics only.
        unsafe { atomic_fetch_add_u32_block(block_bins.add(value as usize), Relaxed, run) };
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
