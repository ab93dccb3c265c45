//! Halo: read each element from global memory once.
//!
//! Each output element is the sum of 7 inputs, from `i - 3` to `i + 3`. A missing element counts as 0. At present, each
//! thread reads 7 elements from global memory, and neighboring threads read almost the same elements.
//!
//! A block of 128 threads needs 128 + 6 elements: one for each thread, and a *halo* of 3 elements on each side. Load
//! these 134 elements into `tile` first, and then sum the elements of the tile. A warp then makes 1 or 2 load requests
//! instead of 7. The goal counts the requests of all 16 warps.
//!
//! Element `k` of the tile is the input at `first + k - 3`, where `first` is the index of the block's first element.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n` elements. The grid has blocks of 128 threads, and at least one thread for each
/// element.
#[kernel]
pub unsafe fn halo(input: *const i32, output: *mut i32, n: i32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 134]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let t = thread::thread_idx_x() as usize;
    let first = (thread::block_idx_x() * 128) as i32;
    // Returns an element of the input, or 0 if the element does not exist.
    // SAFETY: the condition checks that the index is in bounds.
    let get = |i: i32| if i >= 0 && i < n { unsafe { *input.add(i as usize) } } else { 0 };
    let i = first + t as i32;
    // TODO: fill the tile, and sum its elements.
    let mut sum = 0;
    for k in 0..7 {
        sum += get(i + k - 3);
    }
    if i < n {
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *output.add(i as usize) = sum };
    }
}
