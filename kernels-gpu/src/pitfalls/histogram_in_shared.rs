//! A histogram in shared memory whose threads count with `+=`.
//!
//! `+=` is a load, an addition and a store. If two threads with the same value load the same count, one of the two
//! additions is lost.
//!
//! The fixed version uses an atomic addition.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::{address_space, kernel, thread};

pitfall! { histogram_in_shared: Race, 1 x 64 {
    lesson: "several threads that increment one counter need an atomic: of two concurrent `+=`, one is lost",
    on_gpu: "counts are too small: of the lanes of a warp with the same bin, only one counts",
    arguments: [Input(64), Output(8)],
    right: |input, at| input.iter().filter(|value| **value as usize % 8 == at).count() as u32,
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn histogram_in_shared(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut BINS: MaybeUninit<[u32; 8]> = MaybeUninit::uninit();
    let bins = (&raw mut BINS).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
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

/// The fixed version.
#[kernel]
pub unsafe fn histogram_in_shared_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut BINS: MaybeUninit<[u32; 8]> = MaybeUninit::uninit();
    let bins = (&raw mut BINS).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads, and a bin's index is below 8. The bins are zeroed before the
    // first barrier, updated with atomics, and read after the second barrier.
    unsafe {
        let i = thread::thread_idx_x() as usize;
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
