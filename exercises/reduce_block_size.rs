//! Const generics: let the compiler know the block size.
//!
//! Where the block size is a constant, the compiler writes out the rounds of the tree one by one, without a loop and its
//! comparisons. A kernel cannot be generic, because a launch names one piece of machine code; but its body can be a generic
//! function, and each block size gets a kernel that calls it.
//!
//! The body asks for the block size when it runs. Make the size a constant of its own: `unsafe fn body<const BLOCK:
//! usize>(…)`, called as `body::<64>(…)` and `body::<256>(…)`, and let the loop use it. The rounds have to be a `while` as they
//! are; the compiler does the rest.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// As for `reduce_tree`, with blocks of 64 threads.
#[kernel]
pub unsafe fn reduce_block_size_64(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    // SAFETY: `tile` has a word for each of the block's 64 threads, and the other arguments are the kernel's.
    // TODO: say that the block has 64 threads.
    unsafe { body(tile, input, output, n) };
}

/// # Safety
/// As for `reduce_tree`, with blocks of 256 threads.
#[kernel]
pub unsafe fn reduce_block_size_256(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 256]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    // SAFETY: `tile` has a word for each of the block's 256 threads, and the other arguments are the kernel's.
    // TODO: say that the block has 256 threads.
    unsafe { body(tile, input, output, n) };
}

/// # Safety
/// As for `reduce_tree`; `tile` is shared memory of an element for each thread of the block.
#[inline(always)]
unsafe fn body(tile: *mut i32, input: *const i32, output: *mut i32, n: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds, by the guards; in a round, no element that is read is written by another thread.
    unsafe {
        *tile.add(t) = if i < n as usize { *input.add(i) } else { 0 };
        thread::sync_threads();
        // TODO: the block size is a constant.
        let mut stride = thread::block_dim_x() as usize / 2;
        while stride > 0 {
            if t < stride {
                *tile.add(t) += *tile.add(t + stride);
            }
            thread::sync_threads();
            stride /= 2;
        }
        if t == 0 {
            *output.add(thread::block_idx_x() as usize) = *tile;
        }
    }
}
