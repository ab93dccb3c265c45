//! Hints:
//!
//! 1. The store is `Release`, the load is `Acquire`; both are in `core::sync::atomic::Ordering`.
//! 2. One without the other orders nothing.
//!
//! This is the memory model that CPUs have in Rust, too. What is new are the scopes, which say between which threads it holds.

use core::sync::atomic::Ordering::{Acquire, Release};
use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::prelude::*;

/// # Safety
/// `data` points to `n` words, `output` to one, `flag` to a 0. There are two blocks of one thread.
#[kernel]
pub unsafe fn publish(data: *mut u32, flag: *mut u32, output: *mut u32, n: u32) {
    // SAFETY: in bounds; the data are read after the flag was seen.
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
