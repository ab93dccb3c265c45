//! Hints:
//!
//! 1. `let place = u64::from(i) * 40503 * 65537 % u64::from(n);`
//! 2. The index is `place as usize`.
//!
//! Sizes and indices are unsigned in Rust for this reason. Products of sizes belong into 64 bits: 65536 * 65536 is 0 in 32.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to `n` zeros. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn overflowing_index(output: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        let place = u64::from(i) * 40503 * 65537 % u64::from(n);
        // SAFETY: in bounds; elements are counted with atomics only.
        unsafe {
            let element = output.offset(place as isize);
            cuda_std::atomic::mid::atomic_fetch_add_u32_device(element, core::sync::atomic::Ordering::Relaxed, i + 1);
        }
    }
}
