//! Hints:
//!
//! 1. Which threads have no left neighbor, and which have no right neighbor?
//! 2. Each neighbor needs a check of its index, and the value 0 if the index is out of bounds.
//! 3. `let left = if i > 0 { *input.add(i - 1) } else { 0 };`, and the right neighbor in the same way, if `i + 1 < n`.
//!
//! `i` is unsigned, so `i - 1` in thread 0 is the greatest number of the type instead of -1. For the right neighbor, `i
//! < n - 1` has the same problem if `n` is 0.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn neighbors(input: *const i32, output: *mut i32, n: u32) {
    let (i, n) = (thread::index_1d() as usize, n as usize);
    if i < n {
        // SAFETY: the code below checks the bounds. Each thread writes a separate element.
        unsafe {
            let left = if i > 0 { *input.add(i - 1) } else { 0 };
            let right = if i + 1 < n { *input.add(i + 1) } else { 0 };
            *output.add(i) = left + *input.add(i) + right;
        }
    }
}
