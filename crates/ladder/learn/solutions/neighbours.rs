//! Hints:
//!
//! 1. Which threads have no left neighbour, and which have no right one?
//! 2. `let left = if i > 0 { … } else { 0 };`
//! 3. The right neighbour exists where `i + 1 < n`. `i < n - 1` is the same only as long as `n` is not 0.
//!
//! `i` is unsigned, so `i - 1` is not -1 in thread 0 but the greatest number that there is: as an index, far outside.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn neighbours(input: *const i32, output: *mut i32, n: u32) {
    let (i, n) = (thread::index_1d() as usize, n as usize);
    if i < n {
        // SAFETY: in bounds, by the guards; each thread has an element of its own.
        unsafe {
            let left = if i > 0 { *input.add(i - 1) } else { 0 };
            let right = if i + 1 < n { *input.add(i + 1) } else { 0 };
            *output.add(i) = left + *input.add(i) + right;
        }
    }
}
