//! Hints:
//!
//! 1. What a lane reads in a round was written in the round before: one `sync_warp` between writing and reading.
//! 2. What a lane writes is what another one reads in the same round: one between reading and writing.
//! 3. `warp::sync_warp(u32::MAX);` before and after the read.
//!
//! The value that was read is in a register between the two, so writing it cannot come too early. Shuffles need none of
//! this: they synchronize the lanes by themselves.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*, warp};

/// # Safety
/// `input` points to 32 elements, `output` to one. There is one block of 32 threads.
#[kernel]
pub unsafe fn lanes_do_not_wait(input: *const i32, output: *mut i32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let lane = warp::lane_id() as usize;
    // SAFETY: in bounds.
    unsafe {
        *tile.add(lane) = *input.add(lane);
        let mut stride = 16;
        while stride > 0 {
            warp::sync_warp(u32::MAX);
            let other = *tile.add((lane + stride) % 32);
            warp::sync_warp(u32::MAX);
            *tile.add(lane) += other;
            stride /= 2;
        }
        if lane == 0 {
            *output = *tile;
        }
    }
}
