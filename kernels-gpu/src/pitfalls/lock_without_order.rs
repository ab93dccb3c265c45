//! A lock whose acquire and release do not order other accesses.
//!
//! A compare-and-swap gives the lock to one block at a time, so the protected value seems safe. But the operations are
//! relaxed. The next block that gets the lock may still read the value from before the last change.
//!
//! The fixed version takes the lock with acquire ordering and frees it with release ordering.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_compare_and_swap_u32_device, atomic_store_32_device};
use cuda_std::{kernel, thread};

pitfall! { lock_without_order: Race, 4 x 1 {
    lesson: "a lock needs acquire ordering when it is taken and release ordering when it is freed",
    on_gpu: "nearly always right; occasionally an addition is lost",
    arguments: [Zeros(1), Sums(1)],
    right: |_, _| 4,
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn lock_without_order(lock: *mut u32, sum: *mut u32) {
    unsafe {
        while atomic_compare_and_swap_u32_device(lock, 0, 1, Relaxed) != 0 {}
        *sum = (*sum).wrapping_add(1); // fault
        atomic_store_32_device(lock, Relaxed, 0);
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn lock_without_order_fixed(lock: *mut u32, sum: *mut u32) {
    // SAFETY: only the block that holds the lock accesses `sum`. The release by one holder and the acquire by the next
    // holder order their accesses.
    unsafe {
        while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
        *sum = (*sum).wrapping_add(1);
        atomic_store_32_device(lock, Release, 0);
    }
}
