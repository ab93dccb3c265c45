//! Hints:
//!
//! 1. For which `i` does the index `i + 1` not exist?
//! 2. `get` with that index returns an `Option<&u32>`. `Option` has a method that copies the value, and a method that
//!    replaces `None`.
//! 3. `let next = input.get(i + 1).copied().unwrap_or(0);`
//!
//! The output is a pointer. A `&mut [u32]` in all threads would promise the compiler that no other thread accesses the
//! elements, which is false.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to `input.len()` elements. The grid has at least one thread for each element.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn slices(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        let next = input.get(i + 1).copied().unwrap_or(0);
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *output.add(i) = next };
    }
}
