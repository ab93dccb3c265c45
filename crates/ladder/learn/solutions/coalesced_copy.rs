//! Hints:
//!
//! 1. A block copies `8 * threads` words. Which are they, and which of them should be read together in step `k`?
//! 2. In step `k` the block takes the words from `first + k * threads` on, one for each thread.
//! 3. `let i = first + k * threads + thread::thread_idx_x();`
//!
//! Each thread does as much as before. What counts is which words the threads of a warp want at the same time.

use cuda_std::prelude::*;

/// Words that a thread copies.
const WORDS: u32 = 8;

/// # Safety
/// `input` and `output` point to `n` words each. The grid has a thread for every 8 of them, or more.
#[kernel]
pub unsafe fn coalesced_copy(input: *const u32, output: *mut u32, n: u32) {
    let threads = thread::block_dim_x();
    // The first word of this block.
    let first = thread::block_idx_x() * threads * WORDS;
    for k in 0..WORDS {
        let i = first + k * threads + thread::thread_idx_x();
        if i < n {
            // SAFETY: in bounds; each word is one thread's.
            unsafe { *output.add(i as usize) = *input.add(i as usize) };
        }
    }
}
