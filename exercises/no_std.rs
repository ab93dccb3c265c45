//! No `std`: the part of Rust's library that kernels can use.
//!
//! A GPU has no operating system, so kernels have no `std`: no files and no threads, and a heap only on request.
//! Everything that needs no operating system is in `core`: numbers, slices, iterators, `Option`, and more, under the
//! same names.
//!
//! This kernel does not compile. Each thread must write the median of its three elements. Use `core::cmp`, and an array
//! instead of the vector.

use cuda_std::prelude::*;
// TODO: there is no `std`.
use std::cmp::{max, min};

/// # Safety
/// `input` points to three elements for each thread, and `output` to one element for each thread.
#[kernel]
pub unsafe fn no_std(input: *const i32, output: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: `input` has three elements for each thread and `output` has one, and each thread writes a separate
    // element.
    unsafe {
        // TODO: there is no `Vec`.
        let three: std::vec::Vec<i32> = (0..3).map(|k| *input.add(3 * i + k)).collect();
        let (a, b, c) = (three[0], three[1], three[2]);
        *output.add(i) = max(min(a, b), min(max(a, b), c));
    }
}
