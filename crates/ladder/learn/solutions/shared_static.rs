//! Hints:
//!
//! 1. Two lines declare `tile` as a private array. Which three lines of the task replace them?
//! 2. The static goes into the kernel, before the line with the pointer. The imports are already present.
//!
//! `&raw mut` creates a pointer, not a reference. A reference would promise that no other thread accesses the memory.
//! The next exercises use the same three lines.

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
    // SAFETY: `data` and the tile have an element for each thread. The reads of the tile follow the barrier.
    unsafe {
        *tile.add(t) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(127 - t);
    }
}
