//! A stencil that writes into the array it reads from.
//!
//! Each thread adds up its two neighbours and puts the sum in the place of its own element, which its neighbours may
//! not have read yet. It is the same with a transpose in place.
//!
//! The cure has all threads read before any writes. That works within one block; where there are more, the result
//! goes to a second array, and the two take turns.

use cuda_std::{kernel, thread};

pitfall! { in_place_stencil: Race, 1 x 64 {
    lesson: "a stencil reads one array and writes another: in place, neighbours read what was written already",
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

/// The cure.
#[kernel]
pub unsafe fn in_place_stencil_cured(data: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (left, right) = (data.add(i.saturating_sub(1)), data.add((i + 1).min(63)));
        let sum = (*left).wrapping_add(*right);
        thread::sync_threads();
        *data.add(i) = sum;
    }
}
