//! Privatization: a copy of the counters for each block.

use cuda_std::thread;
use rung::Rung;

use super::{BINS, BYTES_PER_THREAD, COARSENED, add_private, with_block_bins};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[HISTOGRAM_PRIVATE, HISTOGRAM_PRIVATE_COARSENED_CONTIGUOUS, HISTOGRAM_PRIVATE_COARSENED];

entries! {
    /// Each block counts in shared memory and adds its 256 counters to the global ones in the end.
    ///
    /// Threads meet only within their block, and the meeting place is on the SM: an atomic of shared memory takes a
    /// few cycles where one of global memory goes to the L2 cache and back. But with a byte a thread a block of 256
    /// threads writes nearly as many counters as it counted bytes. (Section 6.4, the entry "privatization".)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_private(input: *const u8, bins: *mut u32, n: u32) for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung Rung::USUAL {
        lesson: "a copy of the counters in each block's shared memory: threads meet near and seldom",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { interleaved::<BLOCK, 1>(copy, input, bins, n) }
}

entries! {
    /// Each thread takes [`BYTES_PER_THREAD`] bytes, so there are a sixteenth of the blocks, and of the copies that
    /// are zeroed and written out.
    ///
    /// They are neighbours, which is how one would divide work on a CPU. Here the 32 threads of a warp read bytes 16
    /// apart in each step: 16 sectors instead of one, each of them 16 times. (Section 6.4, the entry "thread
    /// coarsening".)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_private_coarsened_contiguous(input: *const u8, bins: *mut u32, n: u32)
    for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung COARSENED {
        lesson: "16 bytes a thread: a sixteenth of the copies to write out, but strided reads",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { contiguous::<BLOCK>(copy, input, bins, n) }
}

entries! {
    /// The same work, interleaved: in each step neighbouring threads take neighbouring bytes.
    ///
    /// A warp's 32 bytes are one sector, read once. (Section 6.4, the entry on coalesced accesses.)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_private_coarsened(input: *const u8, bins: *mut u32, n: u32)
    for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung COARSENED {
        lesson: "the same 16 bytes, interleaved: a warp reads one sector in each step",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { interleaved::<BLOCK, BYTES_PER_THREAD>(copy, input, bins, n) }
}

/// Counts `N` bytes of each thread, a block's width apart.
///
/// # Safety
/// As [`histogram`](super) says, with blocks of `BLOCK` threads; `copy` is 256 words of shared memory.
#[inline(always)]
unsafe fn interleaved<const BLOCK: usize, const N: usize>(copy: *mut u32, input: *const u8, bins: *mut u32, n: u32) {
    let first = thread::block_idx_x() * (BLOCK * N) as u32 + thread::thread_idx_x();
    // SAFETY: in bounds, by the question.
    unsafe {
        with_block_bins::<BLOCK>(copy, bins, || {
            for step in 0..N {
                let i = first + (step * BLOCK) as u32;
                if i < n {
                    add_private(copy, *input.add(i as usize), 1);
                }
            }
        });
    }
}

/// Counts [`BYTES_PER_THREAD`] neighbouring bytes of each thread.
///
/// # Safety
/// As [`histogram`](super) says, with blocks of `BLOCK` threads; `copy` is 256 words of shared memory.
#[inline(always)]
unsafe fn contiguous<const BLOCK: usize>(copy: *mut u32, input: *const u8, bins: *mut u32, n: u32) {
    let thread = thread::block_idx_x() * BLOCK as u32 + thread::thread_idx_x();
    let first = thread * BYTES_PER_THREAD as u32;
    // SAFETY: in bounds, by the question.
    unsafe {
        with_block_bins::<BLOCK>(copy, bins, || {
            for i in first..first + BYTES_PER_THREAD as u32 {
                if i < n {
                    add_private(copy, *input.add(i as usize), 1);
                }
            }
        });
    }
}
