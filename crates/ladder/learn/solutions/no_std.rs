//! Hints:
//!
//! 1. `std::cmp::max` is `core::cmp::max`; for numbers, `a.max(b)` is shorter.
//! 2. `let three = [*input.add(i), *input.add(i + 1), *input.add(i + 2)];`
//! 3. The middle one of a, b and c is `max(min(a, b), min(max(a, b), c))`.
//!
//! `alloc`, with `Vec` and `Box`, is a feature of cuda_std. A thread that allocates is slow, though: an array whose size is
//! known lives in registers.

use core::cmp::{max, min};
use cuda_std::prelude::*;

/// # Safety
/// `input` points to three elements for each thread, `output` to one.
#[kernel]
pub unsafe fn no_std(input: *const i32, output: *mut i32) {
    let i = thread::index_1d() as usize;
    // SAFETY: in bounds; each thread has elements of its own.
    unsafe {
        let [a, b, c] = [0, 1, 2].map(|k| *input.add(3 * i + k));
        *output.add(i) = max(min(a, b), min(max(a, b), c));
    }
}
