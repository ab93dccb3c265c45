//! A pipeline that waits for all groups of copies but one too many.
//!
//! `cp.async.wait_group N` waits until at most the last `N` groups are under way. With two groups and `N` = 1 the
//! first has arrived and the second may not have. It is the mistake of the last round of a pipeline, in which no new
//! group was started.
//!
//! The cure counts the groups that were started after the one that is needed.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{kernel, shared_array, thread};

use crate::copy_async::Shared;

pitfall! { copy_group_miscounted: Race, 1 x 32 {
    lesson: "`wait_group N` leaves the last N groups under way: N is the number started after the one that is needed",
    on_gpu: "the first tile is right and the second wrong",
    arguments: [Input(64), Output(32)],
    right: |input, at| input[at].wrapping_add(input[at + 32]),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_group_miscounted(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let (first, second) = (tile.add(i), tile.add(i + 32));
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(first).0, in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(second).0, in(reg64) input.add(i + 32)); // other
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 1;");
        let mut sum = *first;
        sum = sum.wrapping_add(*second); // fault
        *output.add(i) = sum;
    }
}

/// The cure.
#[kernel]
pub unsafe fn copy_group_miscounted_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let (first, second) = (tile.add(i), tile.add(i + 32));
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(first).0, in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) Shared::of(second).0, in(reg64) input.add(i + 32));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 0;");
        let mut sum = *first;
        sum = sum.wrapping_add(*second);
        *output.add(i) = sum;
    }
}
