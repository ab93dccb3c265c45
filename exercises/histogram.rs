//! Atomics: a counter that many threads increment.
//!
//! A *histogram* counts how often each value occurs. `counts[value] += 1` is a load, an addition and a store. If two
//! threads do that with the same counter at the same time, both may load the same number, and one increment is lost.
//!
//! An *atomic* addition is one step that no other thread can interrupt: `atomic_fetch_add_u32_device(pointer, Relaxed,
//! 1)`. `device` is its scope: all threads of the GPU. `Relaxed` means that the addition does not order other accesses.
//! Use this function to count.

use cuda_std::prelude::*;
use {core::sync::atomic::Ordering::Relaxed, cuda_std::atomic::mid::atomic_fetch_add_u32_device};

/// # Safety
/// `input` points to `n` values below 64, and `counts` to 64 zeros.
#[kernel]
pub unsafe fn histogram(input: *const u32, counts: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, every value is below 64, and all threads access the counters with atomics only.
        unsafe {
            let value = *input.add(i as usize);
            // TODO: use an atomic.
            *counts.add(value as usize) += 1;
        }
    }
}
