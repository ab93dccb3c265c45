//! Const generics: the block size as a constant.
//!
//! If the block size is a constant, the compiler unrolls the loop of the tree: it writes the rounds one after another,
//! without the loop's comparisons and branches. A kernel cannot be generic, because a launch names one piece of machine
//! code. But a kernel can call a generic function, and there can be one such kernel for each block size.
//!
//! The function `body` reads the block size at run time. Make the size a const generic parameter, and use this
//! parameter in the loop. Keep the `while` loop, which the compiler unrolls.

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
    // TODO: pass the block size, 64.
    unsafe { body(tile, input, output, n) };
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
    // TODO: pass the block size, 256.
    unsafe { body(tile, input, output, n) };
}

/// # Safety
/// The requirements of `reduce_tree` apply. `tile` points to shared memory with an element for each thread of the
/// block.
#[inline(always)]
unsafe fn body(tile: *mut i32, input: *const i32, output: *mut i32, n: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the code below checks the bounds. A barrier separates a round's writes from the next round's reads.
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
