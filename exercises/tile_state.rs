//! One word: a sum and its state, published together.
//!
//! Each block of one thread sums 8 elements. It waits until the previous block has published its prefix, adds its sum,
//! and publishes its prefix for the next block. A prefix needs a state: 0 means that the prefix is not available yet.
//!
//! Here the state is in the high half of a 64-bit word, and the prefix is in the low half. Two stores write the halves,
//! and the reader may see them in any order. Write the whole word with one store, and read it with one load:
//! `atomic_store_64_device` and `atomic_load_64_device`. Then `Relaxed` is enough.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
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
            // TODO: use one load.
            let halves = words.add(block - 1).cast::<u32>();
            while atomic_load_32_device(halves.add(1), Relaxed) == 0 {}
            prefix = *halves;
        }
        for i in 8 * block..8 * block + 8 {
            prefix = prefix.wrapping_add(*input.add(i));
        }
        // TODO: use one store.
        let halves = words.add(block).cast::<u32>();
        *halves = prefix;
        atomic_store_32_device(halves.add(1), Relaxed, 1);
        *prefixes.add(block) = prefix;
    }
}
