//! A first kernel: each thread writes one number.
//!
//! A kernel is a function that a GPU runs many times at once. Each run is a *thread*. All threads run the same code; what
//! makes them do different things is that each has a number of its own.
//!
//! Here one block of threads is launched, as many threads as `output` has elements. Let thread number `i` write `i * i` to
//! element `i` of `output`. As it stands, every thread writes to the first element.
//!
//! You need:
//! - `thread::thread_idx_x()`: the number of this thread in its block, from 0;
//! - `output.add(i as usize)`: the pointer to element `i`, and `*pointer = value`, which writes there.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the one block.
#[kernel]
pub unsafe fn first_kernel(output: *mut u32) {
    // TODO: the number of this thread.
    let i = 0;
    // SAFETY: each thread has an element of its own.
    unsafe { *output.add(i as usize) = i * i };
}
