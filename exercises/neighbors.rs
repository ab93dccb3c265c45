//! Neighbors: how to handle the edges.
//!
//! Blurs, averages and wave simulations compute an element from the elements next to it. The first and the last element
//! have only one neighbor. Reading the missing neighbor is an access outside the buffer.
//!
//! Compute `output[i]` as `input[i - 1] + input[i] + input[i + 1]`. A missing element counts as 0. The kernel already
//! has the bounds check for `i`.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn neighbors(input: *const i32, output: *mut i32, n: u32) {
    let (i, n) = (thread::index_1d() as usize, n as usize);
    if i < n {
        // SAFETY: the code below checks the bounds. Each thread writes a separate element.
        unsafe {
            // TODO: not every element has both neighbors.
            let left = *input.wrapping_add(i).wrapping_sub(1);
            let right = *input.add(i + 1);
            *output.add(i) = left + *input.add(i) + right;
        }
    }
}
