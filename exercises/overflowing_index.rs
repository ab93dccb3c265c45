//! Find and cure: an index below zero.
//!
//! Each element goes to a place that is computed from a product: `i * 40503 * 65537 % n`. The product does not fit into 32
//! bits. As `i32` it wraps around into the negative, and so does the remainder: an index below zero, which as `usize` is a huge
//! one. On the host a debug build would panic here; a kernel just goes on.
//!
//! Compute the place with unsigned numbers of 64 bits, in which the product fits. Places are then what arithmetic says.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to `n` zeros. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn overflowing_index(output: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // TODO: 64 bits, unsigned.
        let place = (i as i32).wrapping_mul(40503).wrapping_mul(65537) % n as i32;
        // SAFETY: in bounds; elements are counted with atomics only.
        unsafe {
            let element = output.offset(place as isize);
            cuda_std::atomic::mid::atomic_fetch_add_u32_device(element, core::sync::atomic::Ordering::Relaxed, i + 1);
        }
    }
}
