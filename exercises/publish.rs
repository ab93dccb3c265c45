//! Orderings: data that are there when the flag says so.
//!
//! Block 0 writes data and then sets a flag; block 1 waits for the flag and then reads the data. Both use the flag with
//! atomics, but `Relaxed` ones: they order the flag and nothing else, and the data may come later than the flag.
//!
//! A *release* store says: all that I have written before is seen by each thread that sees this. An *acquire* load is the other
//! half: what I read after it is at least as new. Give the two accesses to the flag their orderings.

use core::sync::atomic::Ordering::Relaxed;
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
            // TODO: the ordering.
            atomic_store_32_device(flag, Relaxed, 1);
        } else {
            // TODO: the ordering.
            while atomic_load_32_device(flag, Relaxed) == 0 {}
            let mut sum = 0;
            for i in 0..n {
                sum += *data.add(i as usize);
            }
            *output = sum;
        }
    }
}
