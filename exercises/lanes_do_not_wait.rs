//! Find and cure: lanes of a warp do not run in step.
//!
//! Once the 32 lanes of a warp ran in lockstep, and code relied on it. Since 2017 they need not. Where one lane reads from
//! shared memory what another lane of the same warp has written, something has to order the two: a barrier of the block, or,
//! cheaper, one of the warp: `warp::sync_warp(mask)`.
//!
//! This warp adds up its elements in shared memory, as old code does. In each round every lane reads, and then writes. Put
//! `sync_warp` where it is needed. There are two places.

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
            // TODO: `warp::sync_warp(u32::MAX)`, in two places.
            let other = *tile.add((lane + stride) % 32);
            *tile.add(lane) += other;
            stride /= 2;
        }
        if lane == 0 {
            *output = *tile;
        }
    }
}
