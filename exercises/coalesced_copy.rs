//! Coalesced accesses: bring 32 sectors a request down to 4.
//!
//! Threads run 32 at a time, in *warps*. When a warp reads, its 32 addresses are one *request*, and memory answers in
//! *sectors* of 32 bytes. If the 32 threads want neighbouring words, that is 128 bytes, 4 sectors. If each wants a word of
//! another sector, 32 sectors move for the same 128 bytes, and 7 of 8 bytes for nothing.
//!
//! This kernel copies `n` words, and each thread takes 8 of them. It is right, and slow: a thread takes 8 words in a row,
//! so neighbouring threads are 32 bytes apart. Give the words of a block to its threads another way, so that in each of
//! the 8 steps neighbouring threads take neighbouring words.

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
        // TODO: in each step, neighbouring threads take neighbouring words.
        let i = first + thread::thread_idx_x() * WORDS + k;
        if i < n {
            // SAFETY: in bounds; each word is one thread's.
            unsafe { *output.add(i as usize) = *input.add(i as usize) };
        }
    }
}
