//! An asynchronous copy that one thread waits for and another thread reads.
//!
//! `cp.async.wait_all` waits only for the copies of the thread that executes it. Here each thread reads an element that
//! another thread copied, and that thread may not have waited yet.
//!
//! The fixed version adds a barrier after the wait. After the barrier, the copies of all threads are visible to all
//! threads.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

use super::shared_address;

pitfall! { copy_without_barrier: Race, 1 x 64 {
    lesson: "a thread waits only for its copies; a barrier after the wait makes them visible to the block",
    on_gpu: "wrong if the other warp is slower",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_without_barrier(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(tile.add(i)), in(reg64) input.add(i)); // other
        ptx!("cp.async.wait_all;");
        *output.add(i) = *tile.add(63 - i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn copy_without_barrier_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads. Each thread waits for its copy before the barrier, so the whole
    // tile is written when threads read it.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(tile.add(i)), in(reg64) input.add(i));
        ptx!("cp.async.wait_all;");
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
