//! Compare and swap: an atomic that the hardware does not have.
//!
//! There is no atomic multiplication. But there is one operation from which all others can be made:
//! `atomic_compare_and_swap_u32_device(pointer, current, new, Relaxed)` stores `new` if the word is still `current`, and
//! returns what it was. If that is not `current`, somebody else was faster, and one tries again with what is there now.
//!
//! `*product` is to become the product of all `n` elements, wrapping. Write the loop.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_compare_and_swap_u32_device, atomic_load_32_device, atomic_store_32_device};
use cuda_std::prelude::*;

/// # Safety
/// `input` points to `n` words, `product` to a 1.
#[kernel]
pub unsafe fn compare_and_swap(input: *const u32, product: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: in bounds; the product is accessed with atomics only.
        unsafe {
            let own = *input.add(i as usize);
            // TODO: somebody may come between the load and the store.
            let seen = atomic_load_32_device(product, Relaxed);
            atomic_store_32_device(product, Relaxed, seen.wrapping_mul(own));
        }
    }
}
