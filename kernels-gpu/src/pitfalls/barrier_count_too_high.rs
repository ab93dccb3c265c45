//! A named barrier that waits for more threads than the block has.
//!
//! `bar.sync 1, 96` waits for 96 threads, which are three warps. Perhaps the block was made smaller, or one warp was
//! given a different task, and the barrier's count was not updated. The third warp never arrives.
//!
//! The fixed version passes the number of threads that actually arrive.

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { barrier_count_too_high: Sync, 1 x 64 {
    lesson: "the count of a named barrier is the number of threads that arrive, a multiple of 32",
    on_gpu: "the block never finishes, so the launch hangs",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn barrier_count_too_high(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i);
        ptx!("bar.sync 1, 96;"); // fault
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn barrier_count_too_high_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads. All of them reach the barrier, which separates the tile's
    // writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i);
        ptx!("bar.sync 1, 64;");
        *output.add(i) = *tile.add(63 - i);
    }
}
