//! A first kernel: each thread writes one number.
//!
//! A *kernel* is a function that a GPU runs many times in parallel. Each run is a *thread*. All threads run the same
//! code. Each thread has a different index and uses it to determine its work.
//!
//! The launch has one block of threads, and `output` has one element for each thread. Thread `i` must write `i * i` to
//! element `i` of `output`. At present, all threads write to the first element:
//!
//!     thread             0   1   2   3   4  ...
//!     expected output    0   1   4   9  16  ...
//!     output now         0   -   -   -   -  ...   (-: not written)
//!
//! You need:
//! - `thread::thread_idx_x()`: the index of this thread in its block, from 0;
//! - `output.add(i as usize)`: the pointer to element `i`; `*pointer = value` writes to it.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the one block.
#[kernel]
pub unsafe fn first_kernel(output: *mut u32) {
    // TODO: compute the index of this thread.
    let i = 0;
    // SAFETY: `output` has an element for each thread, and each thread writes a different element.
    unsafe { *output.add(i as usize) = i * i };
}
