//! A flag between two blocks that relies only on `volatile`.
//!
//! `volatile` makes the compiler read the flag each time, but it does not order memory accesses. Data written before
//! the flag may become visible after the flag.
//!
//! The fixed version sets the flag with a release store and waits with acquire loads.

use core::sync::atomic::Ordering::{Acquire, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::{kernel, thread};

pitfall! { plain_flag: Race, 2 x 1 {
    lesson: "`volatile` is not synchronization: the writer must release a flag, and the reader must acquire it",
    on_gpu: "nearly always right; occasionally the data are older than the flag",
    arguments: [Input(1), Unset(1), Zeros(1), Output(1)],
    right: |input, _| input[0],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn plain_flag(input: *const u32, data: *mut u32, flag: *mut u32, output: *mut u32) {
    unsafe {
        if thread::block_idx_x() == 0 {
            *data = *input; // other
            flag.write_volatile(1);
        } else {
            while flag.read_volatile() == 0 {}
            *output = *data; // fault
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn plain_flag_fixed(input: *const u32, data: *mut u32, flag: *mut u32, output: *mut u32) {
    // SAFETY: each pointer addresses one word. Block 0 writes `data` before its release store, and block 1 reads `data`
    // after its acquire load saw the flag.
    unsafe {
        if thread::block_idx_x() == 0 {
            *data = *input;
            atomic_store_32_device(flag, Release, 1);
        } else {
            while atomic_load_32_device(flag, Acquire) == 0 {}
            *output = *data;
        }
    }
}
