//! A stencil that writes to the array that it reads from.
//!
//! Each thread adds its two neighbors and overwrites its element with the sum. The neighbors may not have read this
//! element yet. A transpose in place has the same problem.
//!
//! In the fixed version, all threads read before any thread writes. This works within one block. With several blocks,
//! the result needs a second array.

use cuda_std::{kernel, thread};

pitfall! { in_place_stencil: Race, 1 x 64 {
    lesson: "a stencil must not overwrite its input: neighbors would read values that are already new",
    on_gpu: "wrong at the borders between warps, and only sometimes",
    arguments: [InPlace(64)],
    right: |input, at| input[at.saturating_sub(1)].wrapping_add(input[(at + 1).min(63)]),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn in_place_stencil(data: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (left, right) = (data.add(i.saturating_sub(1)), data.add((i + 1).min(63)));
        let sum = (*left).wrapping_add(*right); // other
        *data.add(i) = sum; // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn in_place_stencil_fixed(data: *mut u32) {
    // SAFETY: all three indices are below 64. The barrier separates the reads of all threads from the writes, and each
    // thread writes one element.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (left, right) = (data.add(i.saturating_sub(1)), data.add((i + 1).min(63)));
        let sum = (*left).wrapping_add(*right);
        thread::sync_threads();
        *data.add(i) = sum;
    }
}
