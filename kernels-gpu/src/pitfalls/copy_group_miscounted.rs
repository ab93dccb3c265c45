//! A pipeline that waits for one copy group too few.
//!
//! `cp.async.wait_group N` waits until at most the last `N` groups are still in flight. With two groups and `N` = 1,
//! the first group has arrived, but the second may not have. The bug is typical for a pipeline's last round, which
//! starts no new group.
//!
//! The fixed version passes the number of groups that were started after the required group: 0.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

use super::shared_address;

pitfall! { copy_group_miscounted: Race, 1 x 32 {
    lesson: "`wait_group N` leaves the last N groups in flight: N is the number of groups after the required group",
    on_gpu: "the first tile is right and the second is wrong",
    arguments: [Input(64), Output(32)],
    right: |input, at| input[at].wrapping_add(input[at + 32]),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn copy_group_miscounted(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (first, second) = (tile.add(i), tile.add(i + 32));
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(first), in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(second), in(reg64) input.add(i + 32)); // other
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 1;");
        let mut sum = *first;
        sum = sum.wrapping_add(*second); // fault
        *output.add(i) = sum;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn copy_group_miscounted_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 32, because the block has 32 threads: all indices are in bounds. Each thread reads only the words
    // that it copied, after it waited for both groups.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (first, second) = (tile.add(i), tile.add(i + 32));
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(first), in(reg64) input.add(i));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.ca.shared.global [{}], [{}], 4;", in(reg32) shared_address(second), in(reg64) input.add(i + 32));
        ptx!("cp.async.commit_group;");
        ptx!("cp.async.wait_group 0;");
        let mut sum = *first;
        sum = sum.wrapping_add(*second);
        *output.add(i) = sum;
    }
}
