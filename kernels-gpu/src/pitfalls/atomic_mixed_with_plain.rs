//! A counter that is incremented atomically but read with a plain load.
//!
//! All additions are atomic, so the final count is correct. But a plain load between the additions may return an old
//! value from a cache. The compiler may also merge this load with another load, move it, or hoist it out of a loop.
//!
//! The fixed version uses an atomic load, which may be relaxed.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_device, atomic_load_32_device};
use cuda_std::{kernel, thread};

pitfall! { atomic_mixed_with_plain: Race, 4 x 1 {
    lesson: "while threads update memory with atomics, every access to it must be atomic, including loads",
    on_gpu: "right or stale: the compiler may keep an old value in a register",
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

/// The fixed version.
#[kernel]
pub unsafe fn atomic_mixed_with_plain_fixed(count: *mut u32, output: *mut u32) {
    // SAFETY: `count` is one word that all blocks access with device-scope atomics only. Each block has one thread,
    // which writes the block's element of `output`.
    unsafe {
        atomic_fetch_add_u32_device(count, Relaxed, 1);
        let any = atomic_load_32_device(count, Relaxed) > 0;
        *output.add(thread::block_idx_x() as usize) = u32::from(any);
    }
}
