//! Hints:
//!
//! 1. Thread `t` fills place `t`; if `t < 6`, it also fills place `t + 128`. `get` has the guard.
//! 2. After a barrier, thread `t` adds up the places `t` to `t + 6`.
//! 3. `*tile.add(t) = get(first + t as i32 - 3);` and `if t < 6 { *tile.add(t + 128) = get(first + t as i32 + 125); }`
//!
//! All threads come to the barrier, also those behind the last element: the places that they fill are the halo of others.

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
    // SAFETY: in bounds; each place has one writer, and is read after the barrier.
    unsafe {
        *tile.add(t) = get(i - 3);
        if t < 6 {
            *tile.add(t + 128) = get(i + 125);
        }
    }
    thread::sync_threads();
    let mut sum = 0;
    for k in 0..7 {
        // SAFETY: in bounds.
        sum += unsafe { *tile.add(t + k) };
    }
    if i < n {
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *output.add(i as usize) = sum };
    }
}
