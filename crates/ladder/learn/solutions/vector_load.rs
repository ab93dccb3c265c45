//! Hints:
//!
//! 1. Which condition on `first` and `n` holds if all 4 elements exist?
//! 2. Keep the loop for threads with fewer than 4 elements. `first` is a multiple of 4, and `input` and `output` are
//!    multiples of 16, so the address is a multiple of 16.
//! 3. `let four: [f32; 4] = wide::load(input.add(first)); wide::store(output.add(first), four.map(|x| 2.0 * x));`
//!
//! The type in `crate::wide` has the attribute `#[repr(C, align(16))]`, which tells the compiler that one instruction
//! is allowed. The alignment of `[f32; 4]` is only 4, so the compiler would generate four loads.

use cuda_std::prelude::*;

use crate::wide;

/// # Safety
/// `input` and `output` are aligned to 16 bytes and point to `n` elements each. The grid has at least one thread for
/// every 4 elements.
#[kernel]
pub unsafe fn vector_load(input: *const f32, output: *mut f32, n: u32) {
    let (first, n) = (4 * thread::index_1d() as usize, n as usize);
    // SAFETY: the code below checks the bounds. Each thread writes separate elements.
    unsafe {
        if first + 4 <= n {
            let four: [f32; 4] = wide::load(input.add(first));
            wide::store(output.add(first), four.map(|x| 2.0 * x));
            return;
        }
        for i in first..n.min(first + 4) {
            *output.add(i) = 2.0 * *input.add(i);
        }
    }
}
