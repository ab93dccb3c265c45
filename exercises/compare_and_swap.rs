//! Compare and swap: an atomic that the hardware does not have.
//!
//! There is no atomic multiplication, but compare-and-swap can implement any atomic operation:
//! `atomic_compare_and_swap_u32_device(pointer, current, new, Relaxed)` stores `new` if the word is still `current`.
//! The function returns the former value of the word. If that value is not `current`, another thread has changed the
//! word, and the thread tries again with the value that it received.
//!
//! `*product` must become the wrapping product of all `n` elements. Write the loop.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_compare_and_swap_u32_device, atomic_load_32_device, atomic_store_32_device};
use cuda_std::prelude::*;

/// # Safety
/// `input` points to `n` words, and `product` to a 1.
#[kernel]
pub unsafe fn compare_and_swap(input: *const u32, product: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and all threads access the product with atomics only.
        unsafe {
            let factor = *input.add(i as usize);
            // TODO: another thread can change the word between the load and the store.
            let seen = atomic_load_32_device(product, Relaxed);
            atomic_store_32_device(product, Relaxed, seen.wrapping_mul(factor));
        }
    }
}
