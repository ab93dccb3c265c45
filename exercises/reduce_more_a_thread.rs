//! More for each thread: fewer barriers for the same sum.
//!
//! In the first round of the tree half of the threads rest already. If each thread adds up 4 elements by itself before the
//! tree begins, a quarter of the blocks do the same work, with a quarter of the barriers.
//!
//! Here a block takes 512 elements: thread `t` takes those at `first + t`, `first + t + 128`, `first + t + 256` and
//! `first + t + 384`. As it stands, it takes only the first of them. Each of the 4 needs a guard.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` elements, `output` to one for each block. Blocks have 128 threads and take 512 elements each.
#[kernel]
pub unsafe fn reduce_more_a_thread(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, n) = (thread::thread_idx_x() as usize, n as usize);
    let first = thread::block_idx_x() as usize * 512;
    // SAFETY: in bounds, by the guards; in a round, no element that is read is written by another thread.
    unsafe {
        // TODO: 4 elements for each thread.
        *tile.add(t) = if first + t < n { *input.add(first + t) } else { 0 };
        thread::sync_threads();
        let mut stride = 64;
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
