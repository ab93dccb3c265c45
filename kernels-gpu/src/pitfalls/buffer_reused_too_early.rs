//! A tile that is filled again while other threads still read it.
//!
//! A loop fills a tile, waits, uses it, and goes on. The barrier in the middle is there; the one at the end is not,
//! and a fast warp writes the next round's values over those that a slow one still reads.
//!
//! The cure is a second barrier, at the end of the round. (Or two tiles that take turns.)

use cuda_std::{kernel, shared_array, thread};

pitfall! { buffer_reused_too_early: Race, 1 x 64 {
    lesson: "a loop over a tile needs two barriers: one before it is read, and one before it is written again",
    on_gpu: "right most of the time, for the warps run at nearly the same pace; wrong under load",
    arguments: [Input(128), Output(64)],
    right: |input, at| input[63 - at].wrapping_add(input[127 - at]),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn buffer_reused_too_early(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let mut sum = 0u32;
        for round in 0..2 {
            *tile.add(i) = *input.add(64 * round + i); // fault
            thread::sync_threads();
            sum = sum.wrapping_add(*tile.add(63 - i)); // other
        }
        *output.add(i) = sum;
    }
}

/// The cure.
#[kernel]
pub unsafe fn buffer_reused_too_early_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let mut sum = 0u32;
        for round in 0..2 {
            *tile.add(i) = *input.add(64 * round + i);
            thread::sync_threads();
            sum = sum.wrapping_add(*tile.add(63 - i));
            thread::sync_threads();
        }
        *output.add(i) = sum;
    }
}
