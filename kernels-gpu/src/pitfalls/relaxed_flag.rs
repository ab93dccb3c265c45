//! A flag that is atomic, and relaxed.
//!
//! An atomic flag is not torn, and no write to it is lost. What it does not do, when it is relaxed, is say anything
//! about other memory: the data written before it need not be there yet.
//!
//! The cure is the order that the flag is meant to have: release for the writer, acquire for the reader.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::{kernel, thread};

pitfall! { relaxed_flag: Race, 2 x 1 {
    lesson: "an atomic that says that other data are ready is a release and an acquire: relaxed orders nothing else",
    on_gpu: "right nearly always; the data are now and then older than the flag",
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

/// The cure.
#[kernel]
pub unsafe fn relaxed_flag_cured(input: *const u32, data: *mut u32, flag: *mut u32, output: *mut u32) {
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
