//! Hints:
//!
//! 1. Begin with what is there: `let mut seen = atomic_load_32_device(product, Relaxed);`
//! 2. `let was = atomic_compare_and_swap_u32_device(product, seen, seen.wrapping_mul(own), Relaxed);`
//! 3. `if was == seen { break; } seen = was;`
//!
//! The first look is an atomic load: a plain one races with the others' stores. For one word with many threads it is slow,
//! as each success makes all others try again; add up in the block first.

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
            let mut seen = atomic_load_32_device(product, Relaxed);
            loop {
                let was = atomic_compare_and_swap_u32_device(product, seen, seen.wrapping_mul(own), Relaxed);
                if was == seen {
                    break;
                }
                seen = was;
            }
        }
    }
}
