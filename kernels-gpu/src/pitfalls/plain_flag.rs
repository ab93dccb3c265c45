//! A flag that one block sets and another waits for, with `volatile` and nothing else.
//!
//! `volatile` makes the compiler read the flag each time. It does not order: the data that were written before the
//! flag may arrive after it.
//!
//! The cure sets the flag with a store that releases, and waits with loads that acquire.

use core::sync::atomic::Ordering::{Acquire, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::{kernel, thread};

pitfall! { plain_flag: Race, 2 x 1 {
    lesson: "`volatile` is not synchronization: a flag is released by its writer and acquired by its reader",
    on_gpu: "right nearly always; the data are now and then older than the flag",
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

/// The cure.
#[kernel]
pub unsafe fn plain_flag_cured(input: *const u32, data: *mut u32, flag: *mut u32, output: *mut u32) {
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
