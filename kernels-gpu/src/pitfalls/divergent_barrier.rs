//! A barrier inside a branch that only some threads of a warp take.
//!
//! A bounds check guards the work, and the barrier was placed in the same branch. Threads that skip the branch never
//! reach the barrier. The hardware counts warps, so it may proceed without some of the threads, or hang.
//!
//! The fixed version puts only the work into the branch, so all threads reach the barrier.

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { divergent_barrier: Sync, 1 x 64 {
    lesson: "all threads of the block must reach a barrier: put the work into a branch, not the barrier",
    on_gpu: "undefined: right on many GPUs, where a warp arrives as a whole; on others the block hangs",
    arguments: [Input(64), Output(64)],
    right: |input, at| if at < 40 { input[39 - at] } else { input[at] },
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn divergent_barrier(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut value = *input.add(i);
        if i < 40 {
            *tile.add(i) = value;
            thread::sync_threads(); // fault
            value = *tile.add(39 - i);
        }
        *output.add(i) = value;
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn divergent_barrier_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads, and tile indices are below 40. All threads reach the barrier,
    // which separates the tile's writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut value = *input.add(i);
        if i < 40 {
            *tile.add(i) = value;
        }
        thread::sync_threads();
        if i < 40 {
            value = *tile.add(39 - i);
        }
        *output.add(i) = value;
    }
}
