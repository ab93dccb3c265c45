//! Slices: pointers with a length.
//!
//! A kernel can have a slice, `&[u32]`, as a parameter. The launch passes the slice as a pointer and a length. Reading
//! a slice needs no `unsafe`, because every index has a bounds check. An index beyond the end causes a *panic*, which
//! ends the whole launch.
//!
//! `output[i]` must be the element after element `i`, or 0 for the last one. `input.get(i)` returns an `Option` and
//! does not panic: `Some(&element)`, or `None` if the element does not exist.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to `input.len()` elements. The grid has at least one thread for each element.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn slices(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        // TODO: use 0 if the next element does not exist.
        let next = input[i + 1];
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *output.add(i) = next };
    }
}
