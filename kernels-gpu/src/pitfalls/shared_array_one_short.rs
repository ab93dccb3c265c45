//! An array in shared memory with one element fewer than the number of threads in the block.
//!
//! The code specifies the size of the tile and the size of the block in two places, and only one place was changed. The
//! last thread writes past the tile. If another variable follows in shared memory, that variable is overwritten.
//!
//! The fixed version has one element for each thread.

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { shared_array_one_short: Memory, 1 x 64 {
    lesson: "a shared-memory array needs an element for each thread that uses it: use one constant for both",
    on_gpu: "no effect if the block gets more shared memory than it needs; otherwise another array is overwritten",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn shared_array_one_short(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 63]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i); // fault
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn shared_array_one_short_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads, and the tile has 64 words. The barrier separates the tile's
    // writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
