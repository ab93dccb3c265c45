//! Padding: the tree of a scan with few bank conflicts.
//!
//! The kernel scans 256 elements of each block along a tree in shared memory. The nodes of a level are a power of two
//! apart, so the lanes of a warp access only a few banks.
//!
//! `place` returns the word of shared memory that holds an element. At present, element `i` is in word `i`. Leave a
//! word unused after every 32 words, so that elements that are 32 words apart are in neighboring banks. `WORDS` is the
//! total number of words that this layout needs.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of words of shared memory.
// TODO: include the padding.
const WORDS: usize = 256;

/// Returns the word of element `i`.
fn place(i: u32) -> u32 {
    // TODO: leave a word unused after every 32 words.
    i
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
