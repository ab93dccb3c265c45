//! Hints:
//!
//! 1. Another thread can change `*product` between the load and the store. Which function notices that?
//! 2. Start with a load. In the loop, try to store the new product. When does the loop end, and which value does the
//!    next attempt use?
//! 3. `let was = …(product, seen, seen.wrapping_mul(factor), Relaxed); if was == seen { break; } seen = was;`
//!
//! The first load is atomic, because a plain load would race with the stores of other threads. With one word and many
//! threads, the loop is slow: each success makes the other threads try again. It is faster to combine the values of a
//! block first.

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
            let mut seen = atomic_load_32_device(product, Relaxed);
            loop {
                let was = atomic_compare_and_swap_u32_device(product, seen, seen.wrapping_mul(factor), Relaxed);
                if was == seen {
                    break;
                }
                seen = was;
            }
        }
    }
}
