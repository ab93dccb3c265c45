//! Hints:
//!
//! 1. Which access to the flag publishes the data, and which access receives it?
//! 2. One ordering without the other has no effect. Both orderings are variants of `core::sync::atomic::Ordering`.
//! 3. `atomic_store_32_device(flag, Release, 1);` and `atomic_load_32_device(flag, Acquire)`
//!
//! Rust on CPUs has the same memory model. A GPU adds scopes, which specify the threads between which an ordering
//! holds.

use core::sync::atomic::Ordering::{Acquire, Release};
use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::prelude::*;

/// # Safety
/// `data` points to `n` words, `output` to one word, and `flag` to a 0. There are two blocks of one thread.
#[kernel]
pub unsafe fn publish(data: *mut u32, flag: *mut u32, output: *mut u32, n: u32) {
    // SAFETY: i < n for all accesses, and block 1 reads the data after it has seen the flag.
    unsafe {
        if thread::block_idx_x() == 0 {
            for i in 0..n {
                *data.add(i as usize) = i * i;
            }
            atomic_store_32_device(flag, Release, 1);
        } else {
            while atomic_load_32_device(flag, Acquire) == 0 {}
            let mut sum = 0;
            for i in 0..n {
                sum += *data.add(i as usize);
            }
            *output = sum;
        }
    }
}
