//! A lock whose taking and giving back order nothing.
//!
//! A compare-and-swap gives the lock to one block at a time, so what it protects seems safe. But the block that takes
//! the lock next may still read the value from before the last change, for neither side says that the change belongs
//! to the lock.
//!
//! The cure takes the lock with an acquire and gives it back with a release.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_compare_and_swap_u32_device, atomic_store_32_device};
use cuda_std::{kernel, thread};

pitfall! { lock_without_order: Race, 4 x 1 {
    lesson: "a lock is taken with acquire and given back with release, or what it protects stays behind",
    on_gpu: "right nearly always; now and then an addition is lost",
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

/// The cure.
#[kernel]
pub unsafe fn lock_without_order_cured(lock: *mut u32, sum: *mut u32) {
    unsafe {
        while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {}
        *sum = (*sum).wrapping_add(1);
        atomic_store_32_device(lock, Release, 0);
    }
}
