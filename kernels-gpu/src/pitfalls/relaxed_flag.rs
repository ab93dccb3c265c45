//! A flag that is atomic but relaxed.
//!
//! An atomic flag is never torn, and no write to it is lost. A relaxed atomic does not order other memory: data written
//! before the flag may not be visible yet.
//!
//! The fixed version uses release ordering for the writer and acquire ordering for the reader.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::{kernel, thread};

pitfall! { relaxed_flag: Race, 2 x 1 {
    lesson: "an atomic that signals that data are ready needs release and acquire: relaxed does not order other memory",
    on_gpu: "nearly always right; occasionally the data are older than the flag",
    arguments: [Input(1), Unset(1), Zeros(1), Output(1)],
    right: |input, _| input[0],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn relaxed_flag(input: *const u32, data: *mut u32, flag: *mut u32, output: *mut u32) {
    unsafe {
        if thread::block_idx_x() == 0 {
            *data = *input; // other
            atomic_store_32_device(flag, Relaxed, 1);
        } else {
            while atomic_load_32_device(flag, Relaxed) == 0 {}
            *output = *data; // fault
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn relaxed_flag_fixed(input: *const u32, data: *mut u32, flag: *mut u32, output: *mut u32) {
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
