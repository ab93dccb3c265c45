//! Atomics: a counter that many threads count with.
//!
//! A *histogram* counts how often each value occurs. `counts[value] += 1` is a load, an addition and a store. If two threads
//! do that with the same counter at the same time, both load the same number, and one of the two is lost.
//!
//! An *atomic* addition is one step that nobody can get into:
//! `atomic_fetch_add_u32_device(pointer, Relaxed, 1)`. `device` is how far it reaches: all threads of the launch.
//! `Relaxed` says that it orders nothing else. Count with it.

use cuda_std::prelude::*;
use {core::sync::atomic::Ordering::Relaxed, cuda_std::atomic::mid::atomic_fetch_add_u32_device};

/// # Safety
/// `input` points to `n` values below 64, `counts` to 64 zeros.
#[kernel]
pub unsafe fn histogram(input: *const u32, counts: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: in bounds; counters are counted with atomics only.
        unsafe {
            let value = *input.add(i as usize);
            // TODO: an atomic.
            *counts.add(value as usize) += 1;
        }
    }
}
