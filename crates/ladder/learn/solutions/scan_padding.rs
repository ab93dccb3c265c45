//! Hints:
//!
//! 1. Elements 0 to 31 stay where they are. Elements 32 to 63 move by one word, and elements 64 to 95 by two.
//! 2. An element moves by the number of whole groups of 32 elements before it. There are eight groups.
//! 3. `i + i / 32`, with 264 words.
//!
//! The padding costs two instructions for each address. In the down-sweep, a few accesses still take two wavefronts.
//! The 32 words of such an access lie in three groups of 32 elements, so the first and the last word are in the same
//! bank.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of words of shared memory.
const WORDS: usize = 264;

/// Returns the word of element `i`.
fn place(i: u32) -> u32 {
    i + i / 32
}

/// # Safety
/// `data` points to 256 elements for each block of 128 threads.
#[kernel]
pub unsafe fn scan_padding(data: *mut u32) {
    #[address_space(shared)]
    static mut SUMS: MaybeUninit<[u32; WORDS]> = MaybeUninit::uninit();
    let sums = (&raw mut SUMS).cast::<u32>();
    let at = |i: u32| sums.wrapping_add(place(i) as usize);
    let t = thread::thread_idx_x();
    let first = thread::block_idx_x() * 256;
    // SAFETY: all elements are below 256, so their words are below `WORDS`. In each round, a node has one writer, and
    // no other thread reads it.
    unsafe {
        for i in [t, t + 128] {
            *at(i) = *data.add((first + i) as usize);
        }
        let mut stride = 1;
        while stride <= 128 {
            thread::sync_threads();
            let node = (t + 1) * 2 * stride - 1;
            if node < 256 {
                *at(node) = (*at(node)).wrapping_add(*at(node - stride));
            }
            stride *= 2;
        }
        stride = 64;
        while stride > 0 {
            thread::sync_threads();
            let node = (t + 1) * 2 * stride - 1;
            if node + stride < 256 {
                *at(node + stride) = (*at(node + stride)).wrapping_add(*at(node));
            }
            stride /= 2;
        }
        thread::sync_threads();
        for i in [t, t + 128] {
            *data.add((first + i) as usize) = *at(i);
        }
    }
}
