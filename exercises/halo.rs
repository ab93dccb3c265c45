//! A halo: read each element from memory once.
//!
//! Each output element is the sum of 7 inputs, from `i - 3` to `i + 3`; what does not exist counts as 0. As it stands, each
//! thread reads 7 elements from global memory, and its neighbours read nearly the same ones.
//!
//! A block of 128 threads needs 128 + 6 elements: its own, and a *halo* of 3 at either side. Let the block's threads put
//! these into `tile` first, each its own element and the first 6 threads one more, and add up from there. 7 loads of each
//! warp become 1 or 2.
//!
//! Let place `k` of the tile hold the input at `first + k - 3`, where `first` is the first element of the block.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n` elements. The grid has blocks of 128 threads, and a thread for each element, or more.
#[kernel]
pub unsafe fn halo(input: *const i32, output: *mut i32, n: i32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 134]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let t = thread::thread_idx_x() as usize;
    let first = (thread::block_idx_x() * 128) as i32;
    // The input at a place that may not exist.
    // SAFETY: in bounds, by the guard.
    let get = |i: i32| if i >= 0 && i < n { unsafe { *input.add(i as usize) } } else { 0 };
    let i = first + t as i32;
    // TODO: fill the tile, and add up from there.
    let mut sum = 0;
    for k in 0..7 {
        sum += get(i + k - 3);
    }
    if i < n {
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *output.add(i as usize) = sum };
    }
}
