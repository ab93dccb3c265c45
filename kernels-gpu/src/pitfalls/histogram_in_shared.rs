//! A histogram in shared memory whose threads count with `+=`.
//!
//! `+=` is a load, an addition and a store. Two threads with the same value load the same count, and one of the two
//! additions is lost.
//!
//! The cure counts with an atomic addition.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::{kernel, shared_array, thread};

pitfall! { histogram_in_shared: Race, 1 x 64 {
    lesson: "a counter of several threads is counted with an atomic: of two plain `+=` at a time, one is lost",
    on_gpu: "counts that are too small: of the lanes of a warp that meet in a bin, one counts",
    arguments: [Input(64), Output(8)],
    right: |input, at| input.iter().filter(|value| **value as usize % 8 == at).count() as u32,
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn histogram_in_shared(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let bins = shared_array![u32; 8];
        if i < 8 {
            *bins.add(i) = 0;
        }
        thread::sync_threads();
        let bin = bins.add((*input.add(i) % 8) as usize);
        *bin = (*bin).wrapping_add(1); // fault
        thread::sync_threads();
        if i < 8 {
            *output.add(i) = *bins.add(i);
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn histogram_in_shared_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let bins = shared_array![u32; 8];
        if i < 8 {
            *bins.add(i) = 0;
        }
        thread::sync_threads();
        let bin = bins.add((*input.add(i) % 8) as usize);
        atomic_fetch_add_u32_block(bin, Relaxed, 1);
        thread::sync_threads();
        if i < 8 {
            *output.add(i) = *bins.add(i);
        }
    }
}
