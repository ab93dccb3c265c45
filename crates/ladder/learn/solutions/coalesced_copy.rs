//! Hints:
//!
//! 1. A block copies `8 * threads` words. Which of these words should the block read in step `k`?
//! 2. In step `k` the block reads one contiguous range with a word for each thread. Where does the range start?
//! 3. `let i = first + k * threads + thread::thread_idx_x();`
//!
//! Each thread still copies 8 words. The number of sectors depends on which words the threads of a warp access at the
//! same time.

use cuda_std::prelude::*;

/// The number of words per thread.
const WORDS: u32 = 8;

/// # Safety
/// `input` and `output` point to `n` words each. The grid has at least one thread for every 8 words.
#[kernel]
pub unsafe fn coalesced_copy(input: *const u32, output: *mut u32, n: u32) {
    let threads = thread::block_dim_x();
    // The first word of this block.
    let first = thread::block_idx_x() * threads * WORDS;
    for k in 0..WORDS {
        let i = first + k * threads + thread::thread_idx_x();
        if i < n {
            // SAFETY: i < n: checked above. Each thread writes separate words.
            unsafe { *output.add(i as usize) = *input.add(i as usize) };
        }
    }
}
