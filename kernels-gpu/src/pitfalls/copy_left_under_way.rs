//! A prefetch in the last round that nobody waits for.
//!
//! A pipeline starts the copy of the next tile before it works on this one. In the last round there is no next tile,
//! the copy is started all the same, and the threads end while it is under way.
//!
//! The cure starts no copy in the last round. (Or waits for all copies before the end.)
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{kernel, shared_array, thread};

use crate::copy_async::Shared;

pitfall! { copy_left_under_way: Sync, 1 x 32 {
    lesson: "a thread waits for its asynchronous copies before it ends, also for those that nobody needs",
    on_gpu: "nothing is noticed: the hardware keeps the shared memory until the copy is over",
    arguments: [Input(64), Output(32)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_left_under_way(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let (now, next) = (tile.add(i), tile.add(i + 32));
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(now).0, in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(next).0, in(reg64) input.add(i + 32)); // fault
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 1;");
        *output.add(i) = *now;
    }
}

/// The cure.
#[kernel]
pub unsafe fn copy_left_under_way_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let now = tile.add(i);
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(now).0, in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 0;");
        *output.add(i) = *now;
    }
}
