//! A copy that its own thread waits for, and another thread reads.
//!
//! Waiting is each thread's own affair: `cp.async.wait_all` says that this thread's copies have arrived. The element
//! that it reads was copied by another, which may not have waited yet.
//!
//! The cure is a barrier behind the wait: then all threads' copies have arrived for all threads.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{kernel, shared_array, thread};

use crate::copy_async::Shared;

pitfall! { copy_without_barrier: Race, 1 x 64 {
    lesson: "a thread waits for its own copies; for those of others, a barrier follows the wait",
    on_gpu: "wrong where the other warp is later",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_without_barrier(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(tile.add(i)).0, in(reg64) input.add(i)); // other
        ptx!("cp.async.wait_all;");
        *output.add(i) = *tile.add(63 - i); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn copy_without_barrier_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(tile.add(i)).0, in(reg64) input.add(i));
        ptx!("cp.async.wait_all;");
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
