//! A counter that is added to with an atomic, and read without.
//!
//! All additions are atomic, so the counter is right in the end. But a plain load in between may be answered from a
//! cache, joined with another, or moved; the compiler may even read once for a whole loop.
//!
//! The cure reads with an atomic load, which may be relaxed.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_device, atomic_load_32_device};
use cuda_std::{kernel, thread};

pitfall! { atomic_mixed_with_plain: Race, 4 x 1 {
    lesson: "memory that is accessed with atomics is accessed with nothing else until all have met",
    on_gpu: "right or stale: an old value is read again and again where the compiler keeps it",
    arguments: [Zeros(1), Output(4)],
    right: |_, _| 1,
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn atomic_mixed_with_plain(count: *mut u32, output: *mut u32) {
    unsafe {
        atomic_fetch_add_u32_device(count, Relaxed, 1); // other
        let any = *count > 0; // fault
        *output.add(thread::block_idx_x() as usize) = u32::from(any);
    }
}

/// The cure.
#[kernel]
pub unsafe fn atomic_mixed_with_plain_cured(count: *mut u32, output: *mut u32) {
    unsafe {
        atomic_fetch_add_u32_device(count, Relaxed, 1);
        let any = atomic_load_32_device(count, Relaxed) > 0;
        *output.add(thread::block_idx_x() as usize) = u32::from(any);
    }
}
