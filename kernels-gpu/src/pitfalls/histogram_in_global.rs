//! A histogram in global memory whose blocks count with `+=`.
//!
//! In each block, only one thread counts. So no two threads of a block conflict, and a tool that checks only shared
//! memory reports nothing. But blocks run at the same time: another block can store to a bin between this block's load
//! and store.
//!
//! The fixed version uses an atomic addition with device scope.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::{kernel, thread};

pitfall! { histogram_in_global: Race, 4 x 1 {
    lesson: "blocks run at the same time: if several blocks add to the same memory, the addition must be atomic",
    on_gpu: "counts are too small and differ between runs",
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

/// The fixed version.
#[kernel]
pub unsafe fn histogram_in_global_fixed(input: *const u32, bins: *mut u32) {
    // SAFETY: each of the 4 blocks reads 16 of 64 elements. A bin's index is below 8, and all blocks add to bins with
    // device-scope atomics.
    unsafe {
        let first = thread::block_idx_x() as usize * 16;
        for i in first..first + 16 {
            let bin = bins.add((*input.add(i) % 8) as usize);
            atomic_fetch_add_u32_device(bin, Relaxed, 1);
        }
    }
}
