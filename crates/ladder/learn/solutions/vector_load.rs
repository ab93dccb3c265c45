//! Hints:
//!
//! 1. All 4 exist where `first + 4 <= n`.
//! 2. `first` is a multiple of 4, so the address is a multiple of 16: `input` and `output` are such multiples.
//! 3. `let four: [f32; 4] = wide::load(input.add(first)); wide::store(output.add(first), four.map(|x| 2.0 * x));`
//!
//! `crate::wide` has a type with `#[repr(C, align(16))]`: that is how the compiler knows that it may use one instruction.
//! `*const [f32; 4]` promises an alignment of 4 only, and becomes four loads.

use cuda_std::prelude::*;

use crate::wide;

/// # Safety
/// `input` and `output` are multiples of 16 and point to `n` elements each. The grid has a thread for every 4 of them, or
/// more.
#[kernel]
pub unsafe fn vector_load(input: *const f32, output: *mut f32, n: u32) {
    let (first, n) = (4 * thread::index_1d() as usize, n as usize);
    // SAFETY: in bounds; each thread has elements of its own.
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
