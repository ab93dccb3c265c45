//! An asynchronous copy whose result is read without waiting for it.
//!
//! `cp.async` starts a copy and returns before the bytes arrive. This also applies to the thread that started the copy:
//! a subsequent load by the same thread may return the old contents.
//!
//! The fixed version waits for all copies of the thread before it reads.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

use super::shared_address;

pitfall! { copy_not_waited_for: Race, 1 x 32 {
    lesson: "an asynchronous copy is complete only after a wait, even for the thread that started it",
    on_gpu: "nearly always wrong: the load is faster than the copy",
    arguments: [Input(32), Output(32)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_not_waited_for(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(tile.add(i)), in(reg64) input.add(i)); // other
        *output.add(i) = *tile.add(i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn copy_not_waited_for_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 32, because the block has 32 threads. Each thread reads only the word that it copied, after it waited
    // for the copy.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(tile.add(i)), in(reg64) input.add(i));
        ptx!("cp.async.wait_all;");
        *output.add(i) = *tile.add(i);
    }
}
