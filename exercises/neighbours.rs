//! Neighbours: what to do at the edges.
//!
//! Many computations take the elements beside one's own: blurs, averages, waves. The first and the last element have only
//! one neighbour, and reading the other one is an access outside of the buffer.
//!
//! Let `output[i]` be `input[i - 1] + input[i] + input[i + 1]`, where an element that does not exist counts as 0. The
//! guard for `i` itself is there.

use cuda_std::prelude::*;

/// # Safety
/// `input` and `output` point to `n` elements each. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn neighbours(input: *const i32, output: *mut i32, n: u32) {
    let (i, n) = (thread::index_1d() as usize, n as usize);
    if i < n {
        // SAFETY: in bounds, by the guards; each thread has an element of its own.
        unsafe {
            // TODO: not every element has both neighbours.
            let left = *input.wrapping_add(i).wrapping_sub(1);
            let right = *input.add(i + 1);
            *output.add(i) = left + *input.add(i) + right;
        }
    }
}
