//! Hints:
//!
//! 1. Which expression in `body` reads the block size at run time?
//! 2. `body` needs a parameter `<const BLOCK: usize>`. Each kernel passes its block size when it calls `body`.
//! 3. `let mut stride = BLOCK / 2;`, and the calls are `body::<64>(…)` and `body::<256>(…)`.
//!
//! The branches of the loop are gone, but the bounds checks remain. A static cannot use the generic parameters of a
//! function, so the kernels declare the shared memory and pass a pointer. In CUDA C++, `template<unsigned BLOCK>` has
//! the same effect.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// The requirements of `reduce_tree` apply, with blocks of 64 threads.
#[kernel]
pub unsafe fn reduce_block_size_64(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    // SAFETY: `tile` has a word for each of the block's 64 threads, and the other arguments are the kernel's arguments.
    unsafe { body::<64>(tile, input, output, n) };
}

/// # Safety
/// The requirements of `reduce_tree` apply, with blocks of 256 threads.
#[kernel]
pub unsafe fn reduce_block_size_256(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 256]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    // SAFETY: `tile` has a word for each of the block's 256 threads, and the other arguments are the kernel's
    // arguments.
    unsafe { body::<256>(tile, input, output, n) };
}

/// # Safety
/// The requirements of `reduce_tree` apply. `tile` points to shared memory with an element for each thread of the
/// block.
#[inline(always)]
unsafe fn body<const BLOCK: usize>(tile: *mut i32, input: *const i32, output: *mut i32, n: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the code below checks the bounds. A barrier separates a round's writes from the next round's reads.
    unsafe {
        *tile.add(t) = if i < n as usize { *input.add(i) } else { 0 };
        thread::sync_threads();
        let mut stride = BLOCK / 2;
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
