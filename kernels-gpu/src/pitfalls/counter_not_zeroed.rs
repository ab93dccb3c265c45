//! A counter of finished blocks that the host does not set to zero.
//!
//! Blocks count themselves, and the last one does what comes after. If the counter begins at anything but 0, no block
//! is the last, and the result is never written, or it is one of the launch before. The kernels are the same; the
//! host forgets to zero the counter before it launches the faulty one.
//!
//! The cure zeroes the counter before every launch, or has the last block put it back to 0.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::{kernel, thread};

pitfall! { counter_not_zeroed: Init, 4 x 1 {
    lesson: "a counter through which blocks agree is 0 before every launch: somebody has to write that 0",
    on_gpu: "right in a fresh process, whose memory is zero; in the second launch no block is the last",
    arguments: [Forgotten(1), Output(1)],
    right: |_, _| 4,
} }

/// The faulty kernel.
#[rustfmt::skip]
#[kernel]
pub unsafe fn counter_not_zeroed(count: *mut u32, output: *mut u32) {
    unsafe {
        let done = atomic_fetch_add_u32_device(count, Relaxed, 1);
        if done == thread::grid_dim_x() - 1 { // fault
            *output = thread::grid_dim_x();
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn counter_not_zeroed_cured(count: *mut u32, output: *mut u32) {
    unsafe {
        let done = atomic_fetch_add_u32_device(count, Relaxed, 1);
        if done == thread::grid_dim_x() - 1 {
            *output = thread::grid_dim_x();
        }
    }
}
