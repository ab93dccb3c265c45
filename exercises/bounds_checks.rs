//! Read the PTX: one bounds check instead of eight.
//!
//! An index into a slice has a bounds check: a comparison, and a branch to code that reports a panic. The compiler
//! removes the check only if it can prove that the index is in bounds.
//!
//! Each thread sums a row of 8 words. Print the kernel's PTX with `ladder learn ptx bounds_checks`, and find the
//! conditional branches (`@%p… bra`) and the `setp` instructions that compute their conditions. Rewrite the kernel with
//! one bounds check for the whole row, and without `unsafe` for the input.

use cuda_std::prelude::*;

/// # Safety
/// `input` has 8 words for each thread of the grid, and `output` points to one word for each thread.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn bounds_checks(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    let mut sum = 0u32;
    // TODO: use one bounds check for the row.
    for k in 0..8 {
        sum = sum.wrapping_add(input[8 * i + k]);
    }
    // SAFETY: `output` has an element for each thread, and each thread writes a separate element.
    unsafe { *output.add(i) = sum };
}
