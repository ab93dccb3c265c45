//! The last rounds of a reduction, written for warps that run in lockstep.
//!
//! Up to Pascal the lanes of a warp went in lockstep, and the last six rounds of a reduction needed no barrier, only
//! `volatile`. Since Volta each lane has a program counter of its own: lane 16 may write its element before lane 0
//! has read it.
//!
//! The cure has the warp meet between reading and writing, and again before the next round. (Or takes shuffles.)

use cuda_std::{kernel, shared_array, thread, warp};

use crate::warp::FULL_MASK;

pitfall! { last_warp_without_syncwarp: Race, 1 x 32 {
    lesson: "lanes of a warp have not run in lockstep since Volta: between them, too, a barrier orders, `sync_warp`",
    on_gpu: "mostly right, since lanes that do not diverge still run together; nothing promises it",
    arguments: [Input(64), Output(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn last_warp_without_syncwarp(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x() as usize;
        let data = shared_array![u32; 64];
        let own = data.add(lane);
        own.write_volatile(*input.add(lane));
        own.add(32).write_volatile(*input.add(lane + 32));
        for stride in [32, 16, 8, 4, 2, 1] {
            let sum = own.read_volatile().wrapping_add(own.add(stride).read_volatile()); // other
            own.write_volatile(sum); // fault
        }
        if lane == 0 {
            *output = own.read_volatile();
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn last_warp_without_syncwarp_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let lane = thread::thread_idx_x() as usize;
        let data = shared_array![u32; 64];
        let own = data.add(lane);
        own.write_volatile(*input.add(lane));
        own.add(32).write_volatile(*input.add(lane + 32));
        for stride in [32, 16, 8, 4, 2, 1] {
            let sum = own.read_volatile().wrapping_add(own.add(stride).read_volatile());
            warp::sync_warp(FULL_MASK);
            own.write_volatile(sum);
            warp::sync_warp(FULL_MASK);
        }
        if lane == 0 {
            *output = own.read_volatile();
        }
    }
}
