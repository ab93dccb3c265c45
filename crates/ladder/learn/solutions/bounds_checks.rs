//! Hints:
//!
//! 1. A range as an index returns a shorter slice: `input[first..last]`. Slicing checks the bounds of the range.
//! 2. An iterator over a slice has no bounds checks, because the iterator cannot leave the slice.
//! 3. `for word in &input[8 * i..8 * i + 8] { sum = sum.wrapping_add(*word); }`
//!
//! The compiler does not combine the eight comparisons, although their indices are consecutive. With one range, the
//! kernel needs one comparison and one branch.

use cuda_std::prelude::*;

/// # Safety
/// `input` has 8 words for each thread of the grid, and `output` points to one word for each thread.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn bounds_checks(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    let mut sum = 0u32;
    for word in &input[8 * i..8 * i + 8] {
        sum = sum.wrapping_add(*word);
    }
    // SAFETY: `output` has an element for each thread, and each thread writes a separate element.
    unsafe { *output.add(i) = sum };
}
