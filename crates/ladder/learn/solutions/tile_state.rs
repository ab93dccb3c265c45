//! Hints:
//!
//! 1. The reader needs a loop around one load of the whole word. The loop ends when the high half is not 0.
//! 2. The word is the state shifted by 32 bits, combined with the prefix. The low half of a `u64` is the value cast to
//!    `u32`.
//! 3. `atomic_store_64_device(words.add(block), Relaxed, 1 << 32 | u64::from(prefix));`
//!
//! The reader reads no other data of the writer, so no other accesses need to be ordered. With a release store and an
//! acquire load, the two halves could stay separate.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_load_64_device, atomic_store_64_device};
use cuda_std::prelude::*;

/// # Safety
/// `input` points to 8 elements for each block of one thread. `words` and `prefixes` have an element for each block,
/// and the words are 0. Blocks start in the order of their indices.
#[kernel]
pub unsafe fn tile_state(input: *const u32, words: *mut u64, prefixes: *mut u32) {
    let block = thread::block_idx_x() as usize;
    let mut prefix = 0_u32;
    // SAFETY: a block accesses only its elements, and the word of the previous block.
    unsafe {
        if block > 0 {
            let mut word = 0;
            while word >> 32 == 0 {
                word = atomic_load_64_device(words.add(block - 1), Relaxed);
            }
            prefix = word as u32;
        }
        for i in 8 * block..8 * block + 8 {
            prefix = prefix.wrapping_add(*input.add(i));
        }
        atomic_store_64_device(words.add(block), Relaxed, 1 << 32 | u64::from(prefix));
        *prefixes.add(block) = prefix;
    }
}
