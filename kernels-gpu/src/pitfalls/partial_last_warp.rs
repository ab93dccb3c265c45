//! A sum with shuffles that assumes that every warp is full.
//!
//! The block has 48 threads, so its second warp has 16 lanes. The shuffle's mask names 32 lanes, and the first step
//! reads from lanes that do not exist.
//!
//! The fixed version computes the mask from the number of threads in the warp, and does not use values of missing
//! lanes. (Alternatively, the kernel can require whole warps.)

use cuda_std::warp::{warp_shuffle_down, warp_shuffle_idx};
use cuda_std::{kernel, thread};

pitfall! { partial_last_warp: Init, 1 x 48 {
    lesson: "the last warp of a block may have fewer than 32 lanes: compute masks from the block's size",
    on_gpu: "often right, because the hardware does not wait for missing lanes; values read from them are undefined",
    arguments: [Input(48), Output(2)],
    right: |input, at| {
        let warp = if at == 0 { &input[..32] } else { &input[32..] };
        warp.iter().fold(0, |sum, value| sum.wrapping_add(*value))
    },
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn partial_last_warp(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x();
        let (lane, warp) = (i % 32, i / 32);
        let mut sum = *input.add(i as usize);
        for delta in [16, 8, 4, 2, 1] {
            let (received, _) = warp_shuffle_down(u32::MAX, sum, delta, 32);
            sum = sum.wrapping_add(received);
        }
        if lane == 0 {
            *output.add(warp as usize) = sum; // fault
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn partial_last_warp_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 48, because the block has 48 threads. The mask names only the existing lanes of this warp. All of
    // them execute the shuffle, and each source lane is one of them.
    unsafe {
        let i = thread::thread_idx_x();
        let (lane, warp) = (i % 32, i / 32);
        let lanes = (thread::block_dim_x() - warp * 32).min(32);
        let mut sum = *input.add(i as usize);
        for delta in [16, 8, 4, 2, 1] {
            let from = lane + delta;
            let (received, _) = warp_shuffle_idx(u32::MAX >> (32 - lanes), sum, from.min(lanes - 1), 32);
            sum = sum.wrapping_add(if from < lanes { received } else { 0 });
        }
        if lane == 0 {
            *output.add(warp as usize) = sum;
        }
    }
}
