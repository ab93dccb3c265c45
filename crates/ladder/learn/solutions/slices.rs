//! Hints:
//!
//! 1. `input.get(i + 1)` is an `Option<&u32>`.
//! 2. `.copied().unwrap_or(0)` makes a number of it.
//!
//! The output is a pointer: a `&mut [u32]` in the hands of all threads would say to each that it alone has all elements, and
//! that is not so.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to as many elements as `input` has. The grid has a thread for each of them, or more.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn slices(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        let behind = input.get(i + 1).copied().unwrap_or(0);
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *output.add(i) = behind };
    }
}
