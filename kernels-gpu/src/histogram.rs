//! How often each byte value occurs: from atomics that all threads queue for, to a copy of the counters for each
//! lane.
//!
//! Every kernel takes `input`, `n` bytes, and adds to `bins`, 256 counters. Two threads may want the same counter at
//! once, so every addition is atomic, and additions to one address happen one after the other: a rung is fast when
//! few threads want the same counter at once, and when the counters are near.
//!
//! A block takes as many bytes as it has threads, in the coarsened rungs [`BYTES_PER_THREAD`] times that. In the last
//! rung the blocks are few and stride over the input. No counter overflows, because `n` is less than 2^31. The rungs
//! but the last apply entries of the checklist in *Programming Massively Parallel Processors* (Hwu, Kirk and El Hajj,
//! 4th edition, 2022), section 6.4.
//!
//! # Safety
//! All kernels: `input` points to `n` bytes and `bins` to 256 counters, in device memory that nothing
//! else uses during the launch; the block is one-dimensional, of the size in the name, where there is
//! one; the grid has just enough blocks for `n` bytes, at least one.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_block, atomic_fetch_add_u32_device};
use cuda_std::thread;
use rung::{Geometry, Rung};

rungs! { global, private, aggregated, lanes }

/// A rung with several bytes a thread.
const COARSENED: Rung = Rung { geometry: Geometry::Line { items_per_thread: BYTES_PER_THREAD as u32 }, ..Rung::USUAL };

/// Values of a byte, and counters.
pub const BINS: usize = 256;

/// Bytes that a thread takes in the coarsened rungs.
///
/// A block writes its 256 counters once; at 16 bytes a thread that is one atomic of global memory for 16
/// bytes of a block of 256 threads. More would leave small inputs with too few blocks.
pub const BYTES_PER_THREAD: usize = 16;

/// Counts `count` of a byte in global memory.
///
/// # Safety
/// `bins` points to 256 counters that are accessed by atomics only.
#[inline(always)]
unsafe fn add_global(bins: *mut u32, byte: u8, count: u32) {
    // SAFETY: a byte is less than 256. Nothing is ordered by a count.
    unsafe { atomic_fetch_add_u32_device(bins.add(byte as usize), Relaxed, count) };
}

/// Counts `count` of a byte in the block's copy.
///
/// # Safety
/// `copy` points to `byte + 1` counters or more of shared memory that are accessed by atomics only.
#[inline(always)]
unsafe fn add_private(copy: *mut u32, byte: u8, count: u32) {
    // SAFETY: a byte is less than 256; the threads that use it are of one block.
    unsafe { atomic_fetch_add_u32_block(copy.add(byte as usize), Relaxed, count) };
}

/// Gives the block counters of its own, which start at 0, has the block count in them, and then adds them to `bins`.
///
/// # Safety
/// All threads of a block of `BLOCK` call it; `copy` is 256 words of shared memory, `bins` 256 counters of
/// global memory; `count` adds to the copy by [`add_private`] and has no barrier.
#[inline(always)]
unsafe fn with_block_bins<const BLOCK: usize>(copy: *mut u32, bins: *mut u32, count: impl FnOnce()) {
    let tid = thread::thread_idx_x() as usize;
    for bin in (tid..BINS).step_by(BLOCK) {
        // SAFETY: one thread writes each counter, before the first barrier.
        unsafe { *copy.add(bin) = 0 };
    }
    thread::sync_threads();
    count();
    thread::sync_threads();
    for bin in (tid..BINS).step_by(BLOCK) {
        // SAFETY: no thread counts any more behind the second barrier.
        let counted = unsafe { *copy.add(bin) };
        // Bytes that do not occur cost nothing.
        if counted > 0 {
            // SAFETY: as the caller promises.
            unsafe { add_global(bins, bin as u8, counted) };
        }
    }
}
