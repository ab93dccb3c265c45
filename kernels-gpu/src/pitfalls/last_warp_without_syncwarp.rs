//! The last rounds of a reduction, written for warps that run in lockstep.
//!
//! Up to Pascal, the lanes of a warp ran in lockstep, and the last six rounds of a reduction needed only `volatile`.
//! Since Volta, each lane has a separate program counter: lane 16 may write its element before lane 0 has read it.
//!
//! The fixed version synchronizes the warp between reading and writing, and again before the next round.
//! (Alternatively, it uses shuffles.)

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread, warp};

pitfall! { last_warp_without_syncwarp: Race, 1 x 32 {
    lesson: "since Volta a warp does not run in lockstep: lanes that exchange data through memory need `sync_warp`",
    on_gpu: "right most of the time, because lanes that do not diverge still run together; no document guarantees it",
    arguments: [Input(64), Output(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn last_warp_without_syncwarp(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut DATA: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let data = (&raw mut DATA).cast::<u32>();
    unsafe {
        let lane = thread::thread_idx_x() as usize;
        let word = data.add(lane);
        word.write_volatile(*input.add(lane));
        word.add(32).write_volatile(*input.add(lane + 32));
        for stride in [32, 16, 8, 4, 2, 1] {
            let sum = word.read_volatile().wrapping_add(word.add(stride).read_volatile()); // other
            word.write_volatile(sum); // fault
        }
        if lane == 0 {
            *output = word.read_volatile();
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn last_warp_without_syncwarp_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut DATA: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let data = (&raw mut DATA).cast::<u32>();
    // SAFETY: lane < 32 and stride <= 32, so all indices are below 64. All 32 lanes reach the two barriers of a round,
    // which separate its reads from its writes.
    unsafe {
        let lane = thread::thread_idx_x() as usize;
        let word = data.add(lane);
        word.write_volatile(*input.add(lane));
        word.add(32).write_volatile(*input.add(lane + 32));
        for stride in [32, 16, 8, 4, 2, 1] {
            let sum = word.read_volatile().wrapping_add(word.add(stride).read_volatile());
            warp::sync_warp(u32::MAX);
            word.write_volatile(sum);
            warp::sync_warp(u32::MAX);
        }
        if lane == 0 {
            *output = word.read_volatile();
        }
    }
}
