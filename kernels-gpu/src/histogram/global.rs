//! All counters in global memory.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::thread;
use rung::rung;

/// The naive start: a thread reads a byte and adds one to the byte's counter.
///
/// The reads are coalesced, so the atomics dominate the cost. All blocks add to the same 256 words. The L2 cache, where
/// global atomics execute, serializes additions to the same word, so a warp's 32 additions to one counter take 32
/// steps. The more often a value occurs, the slower the kernel becomes.
///
/// # Safety
/// See [`histogram`](super).
#[rung(
    lesson = "an atomic of global memory for each byte: all threads of the grid contend for 256 words",
    default_block = 256
)]
pub unsafe fn histogram_global(input: *const u8, bins: *mut u32, n: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if i < n {
        // SAFETY: i < n.
        let byte = unsafe { *input.add(i as usize) };
        // SAFETY: a byte is below 256, and all threads access the counters by atomics. The order of additions does not
        // matter.
        unsafe { atomic_fetch_add_u32_device(bins.add(byte as usize), Relaxed, 1) };
    }
}
