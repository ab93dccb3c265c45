//! A prefetch in the last round that no thread waits for.
//!
//! A pipeline starts the copy of the next tile before it works on the current tile. In the last round there is no next
//! tile. But the thread starts the copy anyway and exits while the copy is in flight.
//!
//! The fixed version starts no copy in the last round. (Alternatively, it waits for all copies before it exits.)
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

use super::shared_address;

pitfall! { copy_left_under_way: Sync, 1 x 32 {
    lesson: "a thread must wait for all of its asynchronous copies before it exits, even for unused ones",
    on_gpu: "no effect: the hardware keeps the shared memory until the copy is complete",
    arguments: [Input(64), Output(32)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_left_under_way(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (now, next) = (tile.add(i), tile.add(i + 32));
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(now), in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(next), in(reg64) input.add(i + 32)); // fault
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 1;");
        *output.add(i) = *now;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn copy_left_under_way_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 32, because the block has 32 threads. Each thread reads only the word that it copied, after it waited
    // for the copy.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let now = tile.add(i);
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(now), in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 0;");
        *output.add(i) = *now;
    }
}
