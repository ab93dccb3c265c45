//! Hints:
//!
//! 1. `let mut sum = 0;` and a loop over `k` from 0 to 3.
//! 2. `let i = first + t + 128 * k;` and `if i < n { sum += *input.add(i); }`
//!
//! Neighbouring threads still read neighbouring elements. Four loads that do not wait for each other are also four times as
//! much on its way from memory, and that is what most kernels lack.

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
