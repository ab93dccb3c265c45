//! Slices: pointers that know their length.
//!
//! A kernel may take a slice, `&[u32]`, which is passed as a pointer and a length. Reading it needs no `unsafe`, for every
//! index is checked: `input[i]` beyond the end is a *panic*, and that ends the whole launch.
//!
//! `output[i]` is to be the element behind the `i`th, or 0 for the last one. `input.get(i)` asks and does not panic: it
//! gives `Some(&element)`, or `None` where there is none.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to as many elements as `input` has. The grid has a thread for each of them, or more.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn slices(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        // TODO: 0 where there is no element behind.
        let behind = input[i + 1];
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *output.add(i) = behind };
    }
}
