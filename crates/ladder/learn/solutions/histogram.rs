//! Hints:
//!
//! 1. Which line of the kernel reads and writes a counter without an atomic?
//! 2. The atomic addition needs a pointer to the counter. The function and `Relaxed` are already imported.
//! 3. `atomic_fetch_add_u32_device(counts.add(value as usize), Relaxed, 1);`
//!
//! The function returns the number before the addition. This kernel does not use the number, so the hardware does not
//! have to send it back.

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
            atomic_fetch_add_u32_device(counts.add(value as usize), Relaxed, 1);
        }
    }
}
