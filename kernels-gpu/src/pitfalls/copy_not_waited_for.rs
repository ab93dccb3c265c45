//! An asynchronous copy whose result is read without waiting for it.
//!
//! `cp.async` starts a copy and returns. Its bytes come later, and the thread that started it is no exception: a load
//! of its own may find what was there before.
//!
//! The cure waits for all copies of the thread before it reads.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{kernel, shared_array, thread};

use crate::copy_async::Shared;

pitfall! { copy_not_waited_for: Race, 1 x 32 {
    lesson: "an asynchronous copy has happened when it was waited for, also for the thread that started it",
    on_gpu: "wrong nearly always: the load is faster than the copy",
    arguments: [Input(32), Output(32)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_not_waited_for(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 32];
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(tile.add(i)).0, in(reg64) input.add(i)); // other
        *output.add(i) = *tile.add(i); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn copy_not_waited_for_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 32];
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(tile.add(i)).0, in(reg64) input.add(i));
        ptx!("cp.async.wait_all;");
        *output.add(i) = *tile.add(i);
    }
}
