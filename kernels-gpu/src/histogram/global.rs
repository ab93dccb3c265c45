//! All counting in global memory.

use cuda_std::{kernel, thread};
use rung::Rung;

use super::add_global;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[HISTOGRAM_GLOBAL];

rung! { histogram_global: Rung::USUAL {
    lesson: "an atomic of global memory for each byte: all threads of the grid queue for 256 words",
} }

/// A thread takes a byte and adds one to its counter.
///
/// The reads are coalesced; the atomics are the cost. All blocks add to the same 256 words: the L2 cache,
/// where global atomics happen, takes them one after the other where they meet, and a warp's 32
/// additions to one counter take as many turns. The more a value dominates, the slower.
///
/// # Safety
/// As [`histogram`](super) says.
#[kernel]
pub unsafe fn histogram_global(input: *const u8, bins: *mut u32, n: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if i < n {
        // SAFETY: in bounds.
        unsafe { add_global(bins, *input.add(i as usize), 1) };
    }
}
