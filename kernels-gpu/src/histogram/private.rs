//! Privatization: a copy of the counters for each block.

use cuda_std::thread;
use rung::Rung;

use super::{BINS, COARSE, COARSENED, add_private, privately};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[
    HISTOGRAM_PRIVATE,
    HISTOGRAM_PRIVATE_COARSENED_CONTIGUOUS,
    HISTOGRAM_PRIVATE_COARSENED,
];

entries! {
    /// Each block counts in shared memory and adds its 256 counters to the global ones in the end.
    ///
    /// Threads meet only within their block, and the meeting place is on the SM: an atomic of shared
    /// memory takes a few cycles where one of global memory goes to the L2 cache and back. But with a
    /// byte a thread a block of 256 threads writes nearly as many counters as it counted bytes. (Seed:
    /// "privatization", the checklist's fifth entry.)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_private(input: *const u8, bins: *mut u32, n: u32) for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung Rung::USUAL {
        lesson: "a copy of the counters in each block's shared memory: threads meet near and seldom",
    };
    // SAFETY: the body's contract is the kernel's.
    => unsafe { interleaved::<BLOCK, 1>(copy, input, bins, n) }
}

entries! {
    /// Each thread takes [`COARSE`] bytes, so there are a sixteenth of the blocks, and of the copies that
    /// are zeroed and written out.
    ///
    /// They are neighbours, which is how one would divide work on a CPU. Here the 32 threads of a warp
    /// read bytes 16 apart in each step: 16 sectors instead of one, each of them 16 times. (Seed: thread
    /// coarsening, the sixth entry.)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_private_coarsened_contiguous(input: *const u8, bins: *mut u32, n: u32)
    for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung COARSENED {
        lesson: "16 bytes a thread: a sixteenth of the copies to write out, but strided reads",
    };
    // SAFETY: the body's contract is the kernel's.
    => unsafe { contiguous::<BLOCK>(copy, input, bins, n) }
}

entries! {
    /// The same work, interleaved: in each step neighbouring threads take neighbouring bytes.
    ///
    /// A warp's 32 bytes are one sector, read once. (Seed: the second entry, coalesced accesses.)
    ///
    /// # Safety
    /// As [`histogram`](super) says.
    histogram_private_coarsened(input: *const u8, bins: *mut u32, n: u32)
    for BLOCK in [128, 256, 512, 1024];
    shared copy: [u32; BINS];
    rung COARSENED {
        lesson: "the same 16 bytes, interleaved: a warp reads one sector in each step",
    };
    // SAFETY: the body's contract is the kernel's.
    => unsafe { interleaved::<BLOCK, COARSE>(copy, input, bins, n) }
}

/// Counts `N` bytes of each thread, a block's width apart.
///
/// # Safety
/// As [`histogram`](super) says, with blocks of `BLOCK` threads; `copy` is 256 words of shared memory.
#[inline(always)]
unsafe fn interleaved<const BLOCK: usize, const N: usize>(
    copy: *mut u32,
    input: *const u8,
    bins: *mut u32,
    n: u32,
) {
    let first = thread::block_idx_x() * (BLOCK * N) as u32 + thread::thread_idx_x();
    // SAFETY: in bounds, by the question.
    unsafe {
        privately::<BLOCK>(copy, bins, || {
            for step in 0..N {
                let i = first + (step * BLOCK) as u32;
                if i < n {
                    add_private(copy, *input.add(i as usize), 1);
                }
            }
        });
    }
}

/// Counts [`COARSE`] neighbouring bytes of each thread.
///
/// # Safety
/// As [`histogram`](super) says, with blocks of `BLOCK` threads; `copy` is 256 words of shared memory.
#[inline(always)]
unsafe fn contiguous<const BLOCK: usize>(copy: *mut u32, input: *const u8, bins: *mut u32, n: u32) {
    let thread = thread::block_idx_x() * BLOCK as u32 + thread::thread_idx_x();
    let first = thread * COARSE as u32;
    // SAFETY: in bounds, by the question.
    unsafe {
        privately::<BLOCK>(copy, bins, || {
            for i in first..first + COARSE as u32 {
                if i < n {
                    add_private(copy, *input.add(i as usize), 1);
                }
            }
        });
    }
}
