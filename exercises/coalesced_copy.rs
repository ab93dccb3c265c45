//! Coalesced accesses: from 32 sectors per request to 4.
//!
//! Threads run in groups of 32, called *warps*. When a warp reads, its 32 addresses form one *request*. Memory
//! transfers *sectors* of 32 bytes. If the 32 threads read neighboring words, the request needs 128 bytes, which are 4
//! sectors. If each thread reads a word in a different sector, the request needs 32 sectors, and 7 of every 8 bytes are
//! wasted.
//!
//! This kernel copies `n` words, 8 words per thread. The result is correct, but each thread copies 8 neighboring words,
//! so neighboring threads access words that are 32 bytes apart. Change the assignment of a block's words to its
//! threads: in each of the 8 steps, neighboring threads must access neighboring words.

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
        // TODO: in each step, neighboring threads must access neighboring words.
        let i = first + thread::thread_idx_x() * WORDS + k;
        if i < n {
            // SAFETY: i < n: checked above. Each thread writes separate words.
            unsafe { *output.add(i as usize) = *input.add(i as usize) };
        }
    }
}
