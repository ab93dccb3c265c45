//! A histogram in global memory whose blocks count with `+=`.
//!
//! Each block has one thread that counts, so no two threads of a block meet, and a tool that looks at shared memory
//! only has nothing to say. But blocks run at the same time, and a load and a store of one lie around those of
//! another.
//!
//! The cure counts with an atomic addition of the device's scope.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::{kernel, thread};

pitfall! { histogram_in_global: Race, 4 x 1 {
    lesson: "blocks run at the same time: what several of them add to is added to with an atomic",
    on_gpu: "counts that are too small, and others in each run",
    arguments: [Input(64), Sums(8)],
    right: |input, at| input.iter().filter(|value| **value as usize % 8 == at).count() as u32,
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn histogram_in_global(input: *const u32, bins: *mut u32) {
    unsafe {
        let first = thread::block_idx_x() as usize * 16;
        for i in first..first + 16 {
            let bin = bins.add((*input.add(i) % 8) as usize);
            *bin = (*bin).wrapping_add(1); // fault
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn histogram_in_global_cured(input: *const u32, bins: *mut u32) {
    unsafe {
        let first = thread::block_idx_x() as usize * 16;
        for i in first..first + 16 {
            let bin = bins.add((*input.add(i) % 8) as usize);
            atomic_fetch_add_u32_device(bin, Relaxed, 1);
        }
    }
}
