//! An element that is read before the barrier.
//!
//! Each thread writes an element of shared memory and reads an element that another thread wrote, without a barrier in
//! between. Within a warp this seems to work, but the other warp may not have written its elements yet.
//!
//! The fixed version has a barrier between the last write and the first read.

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { missing_barrier: Race, 1 x 64 {
    lesson: "a thread may read another thread's shared-memory write only after a barrier",
    on_gpu: "wrong values where the other warp is slower; with small blocks, the results may look right for years",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn missing_barrier(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i); // other
        *output.add(i) = *tile.add(63 - i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn missing_barrier_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads. The barrier separates the tile's writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
