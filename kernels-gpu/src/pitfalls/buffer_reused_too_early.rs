//! A tile that is overwritten while other threads still read it.
//!
//! Each round of a loop fills a tile, waits at a barrier, and uses the tile. Without a second barrier at the end of the
//! round, a fast warp may overwrite values that a slow warp has not read yet.
//!
//! The fixed version adds a barrier at the end of the round. (Alternatively, the rounds can alternate between two
//! tiles.)

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { buffer_reused_too_early: Race, 1 x 64 {
    lesson: "a loop over a shared-memory tile needs two barriers: before the reads, and before the next writes",
    on_gpu: "right most of the time, because the warps run at nearly the same pace; wrong under load",
    arguments: [Input(128), Output(64)],
    right: |input, at| input[63 - at].wrapping_add(input[127 - at]),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn buffer_reused_too_early(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut sum = 0u32;
        for round in 0..2 {
            *tile.add(i) = *input.add(64 * round + i); // fault
            thread::sync_threads();
            sum = sum.wrapping_add(*tile.add(63 - i)); // other
        }
        *output.add(i) = sum;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn buffer_reused_too_early_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64 and round < 2, so every index is in bounds. One barrier separates the tile's writes from its
    // reads, and the second barrier separates these reads from the next round's writes.
    unsafe {
        let i = thread::thread_idx_x() as usize;
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
