//! Hints:
//!
//! 1. Put the static above into the kernel, and the line with the pointer below it, in the place of `let tile = …`.
//! 2. `address_space` is a macro of cuda_std, and `MaybeUninit` is `core::mem::MaybeUninit`.
//!
//! Shared memory is uninitialized when a block starts, which is why the type is `MaybeUninit`. `&raw mut` makes a pointer and
//! not a reference: a reference would promise that no other thread uses the memory. The next exercises use the same three
//! lines.

use core::mem::MaybeUninit;
use cuda_std::address_space;
use cuda_std::prelude::*;

/// # Safety
/// `data` points to 128 elements for each block of 128 threads.
#[kernel]
pub unsafe fn shared_static(data: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 128]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: in bounds; each thread writes an element of its own, and reads after the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(127 - t);
    }
}
