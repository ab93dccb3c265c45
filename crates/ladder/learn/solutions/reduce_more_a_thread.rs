//! Hints:
//!
//! 1. One line reads an element and stores it in the tile. Read the elements in a loop, with a local variable for the
//!    sum.
//! 2. In step `k` the element is `first + t + 128 * k`. Check each index separately.
//! 3. `for k in 0..4 { let i = first + t + 128 * k; if i < n { sum += *input.add(i); } }`
//!
//! Neighboring threads still read neighboring elements. The four loads do not wait for each other, so four times the
//! number of bytes is in flight, which hides more of the memory latency.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to `n` elements, and `output` to one for each block. Blocks have 128 threads and handle 512 elements
/// each.
#[kernel]
pub unsafe fn reduce_more_a_thread(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let (t, n) = (thread::thread_idx_x() as usize, n as usize);
    let first = thread::block_idx_x() as usize * 512;
    // SAFETY: the code below checks the bounds. A barrier separates a round's writes from the next round's reads.
    unsafe {
        let mut sum = 0;
        for k in 0..4 {
            let i = first + t + 128 * k;
            if i < n {
                sum += *input.add(i);
            }
        }
        *tile.add(t) = sum;
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
