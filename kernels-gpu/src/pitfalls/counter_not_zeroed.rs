//! A counter of finished blocks that the host does not set to zero.
//!
//! Each block increments a counter, and the last block does the final step. If the counter does not start at 0, no
//! block sees the last count. Then no block writes the result, and the output keeps its old contents, for example the
//! previous launch's result. The two kernels are the same: the host forgets to zero the counter before it launches the
//! faulty kernel.
//!
//! The fixed version zeroes the counter before every launch. (Alternatively, the last block resets it to 0.)

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::{kernel, thread};

pitfall! { counter_not_zeroed: Init, 4 x 1 {
    lesson: "a counter of finished blocks must be 0 before every launch: the host or the last block must reset it",
    on_gpu: "right in a fresh process, whose memory is zero; in the second launch, no block finds that it is the last",
    arguments: [Forgotten(1), Output(1)],
    right: |_, _| 4,
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn counter_not_zeroed(count: *mut u32, output: *mut u32) {
    unsafe {
        let done = atomic_fetch_add_u32_device(count, Relaxed, 1); // fault
        if done == thread::grid_dim_x() - 1 {
            *output = thread::grid_dim_x();
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn counter_not_zeroed_fixed(count: *mut u32, output: *mut u32) {
    // SAFETY: `count` is a word that blocks access only with device-scope atomics. Only the block that sees the last
    // count writes `output`.
    unsafe {
        let done = atomic_fetch_add_u32_device(count, Relaxed, 1);
        if done == thread::grid_dim_x() - 1 {
            *output = thread::grid_dim_x();
        }
    }
}
