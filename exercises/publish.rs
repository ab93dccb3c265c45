//! Memory orderings: data that is visible when the flag is set.
//!
//! Block 0 writes data and then sets a flag. Block 1 waits for the flag and then reads the data. Both access the flag
//! with `Relaxed` atomics, which order no other accesses. The data can become visible later than the flag.
//!
//! A *release* store publishes: a thread that sees the store also sees everything that was written before it. An
//! *acquire* load receives: the accesses after the load see the data that the release store has published. Give the two
//! accesses to the flag the right orderings.

use core::sync::atomic::Ordering::Relaxed;
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
            // TODO: choose the ordering.
            atomic_store_32_device(flag, Relaxed, 1);
        } else {
            // TODO: choose the ordering.
            while atomic_load_32_device(flag, Relaxed) == 0 {}
            let mut sum = 0;
            for i in 0..n {
                sum += *data.add(i as usize);
            }
            *output = sum;
        }
    }
}
