//! A sum by shuffles that takes every warp for a full one.
//!
//! The block has 48 threads, so its second warp has 16 lanes. The mask of the shuffles names 32, and the first step
//! reads from lanes that do not exist.
//!
//! The cure computes the mask from the threads that the warp has, and reads from none beyond. (Or launches whole
//! warps only, and says so.)

use cuda_std::warp::{warp_shuffle_down, warp_shuffle_idx};
use cuda_std::{kernel, thread};

use crate::warp::{FULL_MASK, WARP_SIZE, first_lanes};

pitfall! { partial_last_warp: Init, 1 x 48 {
    lesson: "a block's last warp may have fewer lanes: masks come from the size of the block",
    on_gpu: "often right, as lanes that do not exist are not waited for; what is read from them is undefined",
    arguments: [Input(48), Output(2)],
    right: |input, at| {
        let own = if at == 0 { &input[..32] } else { &input[32..] };
        own.iter().fold(0, |sum, value| sum.wrapping_add(*value))
    },
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn partial_last_warp(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x();
        let (lane, warp) = (i % WARP_SIZE, i / WARP_SIZE);
        let mut sum = *input.add(i as usize);
        for delta in [16, 8, 4, 2, 1] {
            let (other, _) = warp_shuffle_down(FULL_MASK, sum, delta, 32);
            sum = sum.wrapping_add(other);
        }
        if lane == 0 {
            *output.add(warp as usize) = sum; // fault
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn partial_last_warp_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x();
        let (lane, warp) = (i % WARP_SIZE, i / WARP_SIZE);
        let lanes = (thread::block_dim_x() - warp * WARP_SIZE).min(WARP_SIZE);
        let mut sum = *input.add(i as usize);
        for delta in [16, 8, 4, 2, 1] {
            let from = lane + delta;
            let (other, _) = warp_shuffle_idx(first_lanes(lanes), sum, from.min(lanes - 1), 32);
            sum = sum.wrapping_add(if from < lanes { other } else { 0 });
        }
        if lane == 0 {
            *output.add(warp as usize) = sum;
        }
    }
}
