//! No `std`: what a kernel can use of Rust's library.
//!
//! A GPU has no operating system, so kernels have no `std`: no files, no threads, and no heap unless one asks for it. What
//! needs none of these is in `core`: numbers, slices, iterators, `Option`, and much more under the same names.
//!
//! This kernel does not compile. Each thread is to write the middle one of its three elements. Use `core::cmp`, and an array
//! in the place of the vector.

use cuda_std::prelude::*;
// TODO: there is no `std`.
use std::cmp::{max, min};

/// # Safety
/// `input` points to three elements for each thread, `output` to one.
#[kernel]
pub unsafe fn no_std(input: *const i32, output: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds; each thread has elements of its own.
    unsafe {
        // TODO: and no `Vec`.
        let three: std::vec::Vec<i32> = (0..3).map(|k| *input.add(3 * i + k)).collect();
        let (a, b, c) = (three[0], three[1], three[2]);
        *output.add(i) = max(min(a, b), min(max(a, b), c));
    }
}
