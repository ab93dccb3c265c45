//! Threads that return early and leave their words of the tile unwritten.
//!
//! `if (i >= n) return;` is the first line of many kernels, and it is correct in a kernel without barriers. The bug
//! appears when a tile and a barrier are added later. On current GPUs, the barrier does not wait for exited threads,
//! although the programming guide does not guarantee this behavior. The words that the exited threads should have
//! written stay uninitialized.
//!
//! In the fixed version, all threads stay until the last barrier. A thread without an element writes the identity,
//! which is 0 here.

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { early_return: Init, 1 x 64 {
    lesson: "no thread may return before the last barrier: a thread without an element writes the identity to the tile",
    on_gpu: "wrong sums, from values that another block left in shared memory",
    arguments: [Input(40), Output(40)],
    right: |input, at| input[at].wrapping_add(if at > 23 { input[63 - at] } else { 0 }),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn early_return(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
        if i >= 40 {
            return;
        }
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = (*tile.add(i)).wrapping_add(*tile.add(63 - i)); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn early_return_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: `input` and `output` are accessed only below 40. All 64 threads write a word of the tile before the
    // barrier, and read the tile only after it.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = if i < 40 { *input.add(i) } else { 0 };
        thread::sync_threads();
        if i < 40 {
            *output.add(i) = (*tile.add(i)).wrapping_add(*tile.add(63 - i));
        }
    }
}
